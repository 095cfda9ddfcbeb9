/// Kernels of rows and copies: each element exactly once for any alignment of both sides, pair types,
/// threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "engine/op/kernel/kernels.hpp"
#include "engine/op/kernel/row_kernels.hpp"
#include "tests/support/update_model.hpp"

namespace mpixrma::engine {
namespace {

/// The order of the elements depends on the distance of the two sides.
template <typename T>
void add_at_every_distance(ElementType type) {
  constexpr std::size_t most = 700;
  constexpr std::size_t page = 4096;
  std::vector<T> target(2 * page / sizeof(T) + most);
  std::vector<T> origin(most + 2);
  for (std::size_t i = 0; i < origin.size(); ++i) origin[i] = static_cast<T>(i % 90);
  for (std::size_t distance = 0; distance < page / sizeof(T); distance += 3) {
    std::size_t const count = most - distance % 250;
    std::size_t const apart =
        (reinterpret_cast<std::uintptr_t>(origin.data()) / sizeof(T)) % (page / sizeof(T));
    std::size_t const begin = (apart + distance) % (page / sizeof(T)) + 1;
    for (std::size_t i = 0; i < target.size(); ++i) target[i] = static_cast<T>(i % 30);
    accumulate_contiguous({type, ReduceOp::sum, false, nullptr},
                          reinterpret_cast<std::byte*>(target.data() + begin),
                          reinterpret_cast<std::byte const*>(origin.data() + 1), count * sizeof(T));
    for (std::size_t i = 0; i < target.size(); ++i) {
      bool const inside = i >= begin && i < begin + count;
      ASSERT_EQ(target[i], static_cast<T>(i % 30 + (inside ? (i - begin + 1) % 90 : 0)))
          << "distance " << distance << ", element " << i;
    }
  }
}

TEST(RowKernel, AddsEachElementOnceAtAnyAlignment) {
  add_at_every_distance<double>(ElementType::float64);
  add_at_every_distance<std::int32_t>(ElementType::int32);
  add_at_every_distance<std::int8_t>(ElementType::int8);
}

/// A long row with a fetch. `to` and `results`: offsets of the stores in their cache lines.
template <typename T>
void fetch_at(ElementType type, std::size_t to, std::size_t results, std::size_t count) {
  constexpr std::byte guard{0x5a};
  std::size_t const bytes = count * sizeof(T);
  struct alignas(64) Memory {
    std::array<std::byte, 1024> bytes;
  };
  std::array<Memory, 3> memory;
  for (Memory& each : memory) each.bytes.fill(guard);
  std::byte* const target = memory[0].bytes.data() + 64 + to;
  std::byte* const result = memory[1].bytes.data() + 64 + results;
  std::byte* const origin = memory[2].bytes.data() + 64 + 8;
  for (std::size_t i = 0; i < count; ++i) {
    test::store(target + i * sizeof(T), static_cast<T>(i % 30));
    test::store(origin + i * sizeof(T), static_cast<T>(i % 90));
  }
  Rows const rows{target, 0, origin, nullptr, 0, result, 0, 1, bytes, nullptr};
  active_kernels->update.get(type, ReduceOp::sum, false)(rows);
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_EQ(test::load<T>(target + i * sizeof(T)), static_cast<T>(i % 30 + i % 90)) << i;
    ASSERT_EQ(test::load<T>(result + i * sizeof(T)), static_cast<T>(i % 30)) << i;
  }
  for (std::byte const* const row :
       {static_cast<std::byte const*>(target), static_cast<std::byte const*>(result)}) {
    EXPECT_TRUE(std::all_of(row - 64, row, [=](std::byte byte) { return byte == guard; }));
    EXPECT_TRUE(std::all_of(row + bytes, row + bytes + 64, [=](std::byte byte) { return byte == guard; }));
  }
}

TEST(RowKernel, FetchesEachElementAtAnyAlignment) {
  for (std::size_t to = 0; to < 64; to += 3) {
    for (std::size_t results = 0; results < 64; results += 2) {
      for (std::size_t const bytes : {512u, 568u, 576u, 600u, 704u}) {
        SCOPED_TRACE(::testing::Message() << to << ", " << results << ", " << bytes);
        fetch_at<double>(ElementType::float64, to, results, bytes / sizeof(double));
        fetch_at<std::int32_t>(ElementType::int32, to, results, bytes / sizeof(std::int32_t));
        fetch_at<std::int16_t>(ElementType::int16, to, results, bytes / sizeof(std::int16_t));
      }
    }
  }
}

TEST(PairKernel, MinlocAndMaxlocPreferTheLowerIndex) {
  using Pair = test::Pair<double>;
  Pair const origin[] = {{1, 5}, {2, 5}, {3, 5}, {4, 5}};
  auto const run = [&](ReduceOp operation) {
    std::vector<Pair> target = {{2, 7}, {2, 7}, {2, 7}, {4, 3}};
    accumulate_contiguous({ElementType::double_int, operation, false, nullptr},
                          reinterpret_cast<std::byte*>(target.data()),
                          reinterpret_cast<std::byte const*>(origin), sizeof origin);
    return target;
  };
  auto const low = run(ReduceOp::minloc);
  auto const high = run(ReduceOp::maxloc);
  double const low_values[] = {1, 2, 2, 4};
  double const high_values[] = {2, 2, 3, 4};
  int const low_indices[] = {5, 5, 7, 3};
  int const high_indices[] = {7, 5, 5, 3};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(test::same(low[i], Pair{low_values[i], low_indices[i]})) << i;
    EXPECT_TRUE(test::same(high[i], Pair{high_values[i], high_indices[i]})) << i;
  }
}

/// A part of an array of MPI_SHORT_INT, in memory of all-ones bytes.
TEST(PairKernel, UpdatesAroundInnerGaps) {
  struct Padded {
    short value;
    int index;
  };
  constexpr std::size_t count = 5;
  std::vector<LayoutRun> runs;
  for (std::size_t i = 0; i < count; ++i) {
    auto const at = static_cast<std::ptrdiff_t>(i * sizeof(Padded));
    runs.push_back({at, sizeof(short)});
    runs.push_back({at + static_cast<std::ptrdiff_t>(offsetof(Padded, index)), sizeof(int)});
  }
  OwnedLayout const layout(Layout{6 * count, {}, runs});
  auto const make = [](short first, int index) {
    std::vector<Padded> made(count);
    std::memset(static_cast<void*>(made.data()), 0xff, count * sizeof(Padded));
    for (std::size_t i = 0; i < count; ++i) {
      made[i].value = static_cast<short>(first + static_cast<short>(i));
      made[i].index = index;
    }
    return made;
  };
  auto const bytes_of = [](std::vector<Padded>& of) { return reinterpret_cast<std::byte*>(of.data()); };
  std::vector<Padded> const before = make(0, 7);
  for (ReduceOp const operation : {ReduceOp::maxloc, ReduceOp::minloc, ReduceOp::replace, ReduceOp::no_op}) {
    for (std::size_t part = 0; part < count; ++part) {  // preceding elements are skipped
      std::vector<Padded> target = before;
      std::vector<Padded> origin = make(2, 5);
      std::vector<Padded> result = make(-1, -1);
      std::size_t const bytes = 6 * (count - part);
      std::byte packed[2][6 * count];
      pack(packed[0], bytes_of(origin), layout.view(), 6 * part, bytes);
      update_part({ElementType::short_int, operation}, bytes_of(target), layout.view(), 6 * part,
                  {packed[0], nullptr, packed[1], bytes});
      unpack(bytes_of(result), layout.view(), 6 * part, packed[1], bytes);
      std::vector<Padded> expected = before;
      std::vector<Padded> fetched = make(-1, -1);
      for (std::size_t i = part; i < count; ++i) {
        fetched[i].value = before[i].value;
        fetched[i].index = before[i].index;
        if (operation != ReduceOp::maxloc && operation != ReduceOp::replace) continue;
        expected[i].value = origin[i].value;
        expected[i].index = origin[i].index;
      }
      EXPECT_EQ(std::memcmp(target.data(), expected.data(), sizeof(Padded) * count), 0) << part;
      EXPECT_EQ(std::memcmp(result.data(), fetched.data(), sizeof(Padded) * count), 0) << part;
      if (part != 0) continue;
      target = before;
      update({ElementType::short_int, operation},
             {bytes_of(target), layout.view(), bytes_of(origin), nullptr, layout.view(), nullptr, {}});
      EXPECT_EQ(std::memcmp(target.data(), expected.data(), sizeof(Padded) * count), 0);
    }
  }
}

TEST(AtomicKernel, ThreadsLoseNoUpdateAndFetchEachValueOnce) {
  alignas(8) std::int64_t counter = 0;
  constexpr int threads = 3;
  constexpr int rounds = 20000;
  std::vector<std::vector<std::int64_t>> fetched(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      Layout const one = Layout::contiguous(8);
      for (int i = 0; i < rounds; ++i) {
        std::int64_t value = 0;
        update({ElementType::int64, ReduceOp::increment, true, nullptr},
               {reinterpret_cast<std::byte*>(&counter), one, nullptr, nullptr, one,
                reinterpret_cast<std::byte*>(&value), one});
        fetched[static_cast<std::size_t>(t)].push_back(value);
      }
    });
  }
  for (auto& worker : workers) worker.join();
  EXPECT_EQ(counter, threads * rounds);
  std::set<std::int64_t> unique;
  for (auto const& list : fetched) unique.insert(list.begin(), list.end());
  EXPECT_EQ(unique.size(), static_cast<std::size_t>(threads * rounds));
}

/// Contiguous copies to a page offset that is 0 to 19 bytes ahead of the source's.
TEST(Copy, IsExactAtCloseAlignments) {
  constexpr std::size_t page = 4096;
  constexpr std::size_t most = 300 * 1024;
  std::mt19937_64 random(20083);
  std::vector<std::byte> from(most + page);
  for (std::byte& byte : from) byte = static_cast<std::byte>(random());
  for (int round = 0; round < 300; ++round) {
    std::size_t const bytes = random() % (round % 4 == 0 ? most : 8 * 1024);
    std::size_t const behind = random() % 64;
    std::size_t const ahead = (behind + random() % 20) % page;
    auto const to = std::make_unique<std::byte[]>(most + 4 * page);
    auto const guard = [&](std::size_t offset) {
      return std::all_of(&to[offset], &to[offset + 64], [](std::byte b) { return b == std::byte{0}; });
    };
    std::size_t const shift = page - reinterpret_cast<std::uintptr_t>(to.get()) % page;
    std::size_t const base = reinterpret_cast<std::uintptr_t>(from.data()) % page;
    std::size_t const begin = page + shift + (base + ahead) % page;
    copy_bytes(&to[begin], &from[behind], bytes);
    EXPECT_EQ(std::memcmp(&to[begin], &from[behind], bytes), 0) << bytes << ' ' << behind << ' ' << ahead;
    EXPECT_TRUE(guard(begin - 64) && guard(begin + bytes)) << bytes;
  }
}

TEST(Copy, PastTheCachesIsExact) {
  std::mt19937_64 random(20084);
  constexpr std::size_t most = 20'000;
  std::vector<std::byte> from(most + 64);
  for (std::byte& byte : from) byte = static_cast<std::byte>(random());
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  for (std::size_t bytes : {0u, 1u, 63u, 64u, 65u, 127u, 128u, 4096u, 16384u, 19'999u}) {
    std::vector<Line> lines(most / 64 + 2, Line{});
    std::byte* const to = lines.front().bytes;
    std::size_t const shift = random() % 64;
    copy_non_temporal(to, &from[shift], bytes);
    EXPECT_EQ(std::memcmp(to, &from[shift], bytes), 0) << bytes;
    EXPECT_EQ(to[bytes], std::byte{0}) << bytes;
  }
}

}  // namespace
}  // namespace mpixrma::engine
