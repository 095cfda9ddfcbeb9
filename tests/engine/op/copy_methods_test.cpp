/// Methods of copies: each is exact for all offsets and sizes, and the table decides which one a copy uses.
#include "engine/op/kernel/copy_methods.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "engine/op/kernel/kernels.hpp"
#include "engine/op/kernel/row_kernels.hpp"

namespace mpixrma::engine {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t edge = 64;
constexpr CopyMethod methods[] = {CopyMethod::library, CopyMethod::vector, CopyMethod::string};

/// Restores copies by the C library after each test.
class CopyMethods : public ::testing::Test {
 protected:
  ~CopyMethods() override { use_copy_methods({}); }
};

/// Two blocks of pages; clear() fills the target's with guard bytes.
class Blocks {
 public:
  Blocks(std::size_t most, unsigned seed) : from_(most + 3 * page), to_(most + 3 * page) {
    std::mt19937_64 random(seed);
    for (std::byte& byte : from_) byte = static_cast<std::byte>(random());
  }
  std::byte const* from(std::size_t offset) const { return at_page(from_.data()) + offset; }
  std::byte* to(std::size_t offset) const { return const_cast<std::byte*>(at_page(to_.data())) + offset; }
  void clear() { std::ranges::fill(to_, std::byte{0x5a}); }

 private:
  /// The second page boundary.
  static std::byte const* at_page(std::byte const* memory) {
    return memory + (page - reinterpret_cast<std::uintptr_t>(memory) % page) + page;
  }
  std::vector<std::byte> from_;
  std::vector<std::byte> to_;
};

bool is_guard(std::byte const* memory) {
  return std::all_of(memory, memory + edge, [](std::byte byte) { return byte == std::byte{0x5a}; });
}

void expect_copied(std::byte const* to, std::byte const* from, std::size_t bytes) {
  EXPECT_EQ(std::memcmp(to, from, bytes), 0);
  EXPECT_TRUE(is_guard(to - edge) && is_guard(to + bytes));
}

TEST_F(CopyMethods, CopyExactlyForEveryOffsetAndSize) {
  Blocks blocks(300'000, 20085);
  for (CopyMethod const method : methods) {
    if (!is_available(method)) continue;
    for (std::size_t const bytes : {2048u, 2049u, 4096u, 6007u, 65536u, 262144u}) {
      for (std::size_t const to : {0u, 1u, 16u, 64u, 1040u, 4080u}) {
        for (std::size_t const from : {0u, 7u, 16u, 63u, 1040u, 4080u}) {
          SCOPED_TRACE(::testing::Message() << name_of(method) << ' ' << bytes << ' ' << to << ' ' << from);
          blocks.clear();
          copy_by(method, blocks.to(to), blocks.from(from), bytes);
          expect_copied(blocks.to(to), blocks.from(from), bytes);
        }
      }
    }
  }
}

TEST_F(CopyMethods, SizeClassesBeginAtTheirNames) {
  EXPECT_EQ(copy_size_class(2048), 0u);
  for (std::size_t size_class = 1; size_class < copy_size_count; ++size_class) {
    std::size_t const first = first_size_of_class(size_class);
    EXPECT_EQ(copy_size_class(first), size_class);
    EXPECT_EQ(copy_size_class(first - 1), size_class - 1);
  }
  EXPECT_EQ(copy_size_class(std::size_t{1} << 40), copy_size_count - 1);
  EXPECT_STREQ(name_of_copy_size(copy_size_class(2048)), "2k");
  EXPECT_STREQ(name_of_copy_size(copy_size_class(2u << 20)), "2m");
}

TEST_F(CopyMethods, ShiftIsTheDistanceWithinAPage) {
  Blocks const blocks(page, 1);
  EXPECT_EQ(copy_shift(blocks.to(16), blocks.from(16)), CopyShift::alike);
  EXPECT_EQ(copy_shift(blocks.to(64), blocks.from(0)), CopyShift::alike);
  EXPECT_EQ(copy_shift(blocks.to(17), blocks.from(16)), CopyShift::close);
  EXPECT_EQ(copy_shift(blocks.to(16), blocks.from(4080)), CopyShift::close);
  EXPECT_EQ(copy_shift(blocks.to(1040), blocks.from(0)), CopyShift::ahead);
  EXPECT_EQ(copy_shift(blocks.to(0), blocks.from(16)), CopyShift::other);
}

/// Sets one decision after the other: the method changes for the copies of its class, and for no others.
TEST_F(CopyMethods, TableDecidesTheMethod) {
  Blocks blocks(first_size_of_class(copy_size_count - 1), 20086);
  constexpr std::size_t offset_of[] = {0, 16, 1040, 4080};
  auto const in_use = [&](std::size_t size_class, CopyShift shift) {
    return copy_method(blocks.to(offset_of[static_cast<std::size_t>(shift)]), blocks.from(0),
                       first_size_of_class(size_class));
  };
  for (CopyMethod const method : {CopyMethod::vector, CopyMethod::string}) {
    if (!is_available(method)) continue;
    for_every_copy_decision([&](std::size_t size_class, CopyShift shift) {
      CopyTable table;
      table.at(size_class, shift) = method;
      use_copy_methods(table);
      for_every_copy_decision([&](std::size_t other_class, CopyShift other_shift) {
        bool const same = other_class == size_class && other_shift == shift;
        EXPECT_EQ(in_use(other_class, other_shift), same ? method : CopyMethod::library);
      });
    });
  }
  use_copy_methods({});
  EXPECT_EQ(in_use(0, CopyShift::close), CopyMethod::library);
}

/// copy_bytes() and the kernel of rows, by each method.
TEST_F(CopyMethods, CopiesOfBytesAndRowsAreExactByEachMethod) {
  Blocks blocks(3 * 70'000, 20087);
  for (CopyMethod const method : methods) {
    CopyTable table;
    for (auto& of_size : table.methods) of_size.fill(method);
    use_copy_methods(table);
    for (std::size_t const bytes : {2047u, 2048u, 65536u + 24}) {
      SCOPED_TRACE(::testing::Message() << name_of(method) << ' ' << bytes);
      blocks.clear();
      copy_bytes(blocks.to(16), blocks.from(0), bytes);
      expect_copied(blocks.to(16), blocks.from(0), bytes);
      blocks.clear();
      auto const stride = static_cast<std::ptrdiff_t>(bytes) + 128;
      active_kernels->copy(blocks.to(16), stride, blocks.from(0), stride, 3, bytes);
      for (std::ptrdiff_t row = 0; row < 3; ++row)
        expect_copied(blocks.to(16) + row * stride, blocks.from(0) + row * stride, bytes);
    }
  }
}

TEST_F(CopyMethods, ListSetsDecisions) {
  CopyTable table;
  EXPECT_EQ(read_copy_methods("auto", table), "");
  EXPECT_EQ(table, CopyTable{});
  EXPECT_EQ(read_copy_methods("library,32k=string,32k.close=vector", table), "");
  EXPECT_EQ(table.at(0, CopyShift::close), CopyMethod::library);
  EXPECT_EQ(table.at(2, CopyShift::alike), CopyMethod::string);
  EXPECT_EQ(table.at(2, CopyShift::close), CopyMethod::vector);
  CopyTable again;
  EXPECT_EQ(read_copy_methods(to_text(table), again), "");
  EXPECT_EQ(again, table);
  CopyTable some;
  some.at(1, CopyShift::other) = CopyMethod::string;
  EXPECT_EQ(to_text(some), "8k.other=string");
  EXPECT_EQ(merge(some, table).at(1, CopyShift::other), CopyMethod::string);
  EXPECT_EQ(merge(some, table).at(2, CopyShift::close), CopyMethod::vector);
}

TEST_F(CopyMethods, ListWithAnInvalidItemIsRefused) {
  for (char const* const text :
       {"fast", "3k=vector", "2k.near=vector", "2k=", "=vector", "vector,2k.close"}) {
    CopyTable table;
    EXPECT_NE(read_copy_methods(text, table), "") << text;
  }
}

}  // namespace
}  // namespace mpixrma::engine
