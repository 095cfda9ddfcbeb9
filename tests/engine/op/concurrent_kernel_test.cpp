/// Kernels that run concurrently with other accesses to the same memory: words are not torn, and sums lose no
/// update.
#include <gtest/gtest.h>

#include <cstdint>
#include <thread>
#include <vector>

#include "engine/op/kernel/kernels.hpp"
#include "tests/support/child.hpp"

namespace mpixrma::engine {
namespace {

template <typename Word>
struct Words {
  std::atomic<bool> stop;
  alignas(64) Word values[4];
};

/// A child process writes words of one repeated byte, strided (places 0 and 2) and contiguous (place 1); this
/// process checks that no word that it reads is a mixture.
template <typename Word>
void expect_whole_words() {
  test::Shared<Words<Word>> shared;
  test::Shared<std::atomic<std::uint64_t>> rounds;
  auto* const target = reinterpret_cast<std::byte*>(shared->values);
  pid_t const pid = ::fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    Dimension const every_second[] = {{2, 2 * sizeof(Word)}};
    Layout const strided{sizeof(Word), every_second, {}};
    for (unsigned round = 0; !shared->stop; ++round) {
      std::byte bytes[2 * sizeof(Word)];
      std::memset(bytes, static_cast<int>(round % 251), sizeof bytes);
      unpack(target, strided, 0, bytes, sizeof bytes);
      copy_bytes(target + sizeof(Word), bytes, sizeof(Word));
      ++*rounds;
    }
    ::_exit(0);
  }
  int torn = 0;
  std::uint64_t looks = 0;
  while (looks < 300000 || *rounds < 300000) {
    for (Word& value : shared->values) {
      Word const seen = __atomic_load_n(&value, __ATOMIC_RELAXED);
      Word whole;
      std::memset(&whole, static_cast<int>(seen & 0xff), sizeof whole);
      if (seen != whole) ++torn;
    }
    ++looks;
  }
  shared->stop = true;
  EXPECT_EQ(::waitpid(pid, nullptr, 0), pid);
  EXPECT_EQ(torn, 0) << sizeof(Word) << " bytes";
}

TEST(ConcurrentKernel, SingleWordsAreNotTorn) {
  expect_whole_words<std::uint16_t>();
  expect_whole_words<std::uint32_t>();
  expect_whole_words<std::uint64_t>();
}

/// The base is misaligned, the elements are not.
TEST(ConcurrentKernel, AtomicSumsAreExactForMisalignedBase) {
  constexpr int rounds = 200000;
  alignas(64) std::uint64_t values[4] = {};
  auto* const base = reinterpret_cast<std::byte*>(values) + 4;
  LayoutRun const pieces[] = {{4, 8}, {20, 8}};
  Layout const indexed{16, {}, pieces};
  Dimension const rows[] = {{2, 16}};
  LayoutRun const first[] = {{4, 8}};
  Layout const strided{8, rows, first};
  std::uint64_t const ones[] = {1, 1};
  auto const* const origin = reinterpret_cast<std::byte const*>(ones);
  Reduction const sum{
      .type = ElementType::uint64, .operation = ReduceOp::sum, .element_atomic = true, .scale = nullptr};
  Reduction const increment{.type = ElementType::uint64,
                            .operation = ReduceOp::increment,
                            .element_atomic = true,
                            .scale = nullptr};
  std::thread other([&] {
    for (int round = 0; round < rounds; ++round) {
      for (int const place : {1, 3})
        update(increment, {.target = reinterpret_cast<std::byte*>(&values[place]),
                           .target_layout = Layout::contiguous(8),
                           .origin = nullptr,
                           .operand2 = nullptr,
                           .origin_layout = {},
                           .result = nullptr,
                           .result_layout = {}});
    }
  });
  for (int round = 0; round < rounds; ++round) {
    if (round % 2 == 0)
      update(sum, {.target = base,
                   .target_layout = indexed,
                   .origin = origin,
                   .operand2 = nullptr,
                   .origin_layout = Layout::contiguous(16),
                   .result = nullptr,
                   .result_layout = {}});
    else
      update_part(sum, base, strided, 0,
                  {.origin = origin, .operand2 = nullptr, .result = nullptr, .bytes = 16});
  }
  other.join();
  EXPECT_EQ(values[0], 0u);
  EXPECT_EQ(values[1], 2u * rounds);
  EXPECT_EQ(values[2], 0u);
  EXPECT_EQ(values[3], 2u * rounds);
}

}  // namespace
}  // namespace mpixrma::engine
