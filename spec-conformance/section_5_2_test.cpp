/// Section 5.2: completion and order by calls.
#include <atomic>

#include "spec-conformance/support.hpp"

namespace mpixrma::test {
namespace {

class X52 : public Clause {};

TEST_F(X52, X52_02_both_calls_are_local) {
  fill(0);
  int const last = size_ - 1;
  if (rank_ == 0) {
    // The last rank enters the barrier only when it has seen the data.
    std::vector<int> values(1000, 1);
    for (int kind = 0; kind < Memory::kinds; ++kind) {
      EXPECT_EQ(transfer(MPIX_RMA_PUT, values.data(), 1000, MPI_INT, last, memory_.at(last, kind)),
                MPI_SUCCESS);
      EXPECT_EQ(MPIX_RMA_Fence(&world, last), MPI_SUCCESS);
    }
    EXPECT_EQ(MPIX_RMA_Complete(&world, last), MPI_SUCCESS);
  } else if (rank_ == last) {
    auto const* const seen = reinterpret_cast<int volatile*>(memory_.own(Memory::plain));
    double const start = MPI_Wtime();
    while (*seen != 1 && MPI_Wtime() - start < 30) {
    }
    EXPECT_EQ(*seen, 1);
  }
  MPI_Barrier(world);
}

TEST_F(X52, X52_03_one_rank_or_all_of_the_communicators_own) {
  ErrorsReturn const returned(world);
  fill(0);
  for (int target = 0; target < size_; ++target) {
    long const value = 100 + rank_;
    for (int kind = 0; kind < Memory::kinds; ++kind)
      ASSERT_EQ(transfer(MPIX_RMA_PUT, const_cast<long*>(&value), 1, MPI_LONG, target,
                         memory_.at(target, kind, 8 * rank_)),
                MPI_SUCCESS);
  }
  EXPECT_EQ(MPIX_RMA_Complete(&world, MPIX_ALL_RANKS), MPI_SUCCESS);
  MPI_Barrier(world);
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    for (int origin = 0; origin < size_; ++origin) EXPECT_EQ(own<long>(kind, 8 * origin), 100 + origin);
  }
  EXPECT_EQ(class_of(MPIX_RMA_Complete(&world, size_)), MPI_ERR_RANK);
  EXPECT_EQ(class_of(MPIX_RMA_Fence(&world, -55)), MPI_ERR_RANK);
}

TEST_F(X52, X52_04_complete_covers_everything_issued_before) {
  fill(0);
  struct Issued {
    int kind;
    std::ptrdiff_t offset;
    std::vector<int> values;
  };
  std::vector<Issued> all;
  std::ptrdiff_t used[Memory::kinds] = {};
  for (int i = 0; i < 50; ++i) {
    int const count = i % 7 == 0 ? 3000 : i % 5 == 0 ? 700 : 1 + i % 10;
    int const kind = i % Memory::kinds;
    all.push_back({kind, used[kind], std::vector<int>(static_cast<std::size_t>(count), i + 1)});
    used[kind] += 4 * count;
    MPIX_RMA_Op const op = i % 2 == 0 ? MPIX_RMA_PUT : MPIX_RMA_ACCUMULATE;
    Issued& issued = all.back();
    ASSERT_EQ(transfer(op, issued.values.data(), count, MPI_INT, next_, there(kind, issued.offset)),
              MPI_SUCCESS);
  }
  ASSERT_EQ(MPIX_RMA_Complete(&world, next_), MPI_SUCCESS);
  MPI_Barrier(world);
  for (Issued const& issued : all) {
    auto const* const begin = reinterpret_cast<int const*>(memory_.own(issued.kind) + issued.offset);
    EXPECT_TRUE(std::equal(issued.values.begin(), issued.values.end(), begin)) << issued.values.front();
  }
}

/// Data and a flag in every pair of kinds of memory: a process that sees the flag sees the data.
void flags_follow_data(Memory& memory, int rank_argument) {
  constexpr int rounds = 60;
  constexpr int count = 3000;
  constexpr int rounds_until_complete = 10;
  int const last = memory.size() - 1;
  for (int pair = 0; pair < Memory::kinds * Memory::kinds; ++pair) {
    int const data_kind = pair / Memory::kinds;
    int const flag_kind = pair % Memory::kinds;
    std::memset(memory.own(flag_kind), 0, 64);
    MPI_Barrier(world);
    if (memory.rank() == 0) {
      // Each round has its own origins, because a transfer may read them until it is complete.
      std::vector<std::int64_t> origins[rounds_until_complete];
      std::int64_t flags[rounds_until_complete];
      for (std::int64_t round = 1; round <= rounds; ++round) {
        std::vector<std::int64_t>& data = origins[round % rounds_until_complete];
        std::int64_t& flag = flags[round % rounds_until_complete];
        data.assign(count, round);
        flag = round;
        ASSERT_EQ(
            transfer(MPIX_RMA_PUT, data.data(), count, MPI_INT64_T, last, memory.at(last, data_kind, 64)),
            MPI_SUCCESS);
        ASSERT_EQ(MPIX_RMA_Fence(&world, rank_argument), MPI_SUCCESS);
        ASSERT_EQ(transfer(MPIX_RMA_PUT, &flag, 1, MPI_INT64_T, last, memory.at(last, flag_kind)),
                  MPI_SUCCESS);
        ASSERT_EQ(MPIX_RMA_Fence(&world, rank_argument), MPI_SUCCESS);
        if (round % rounds_until_complete == 0) ASSERT_EQ(MPIX_RMA_Complete(&world, last), MPI_SUCCESS);
      }
    }
    if (memory.rank() == last) {
      auto const* const flag = reinterpret_cast<std::int64_t volatile*>(memory.own(flag_kind));
      auto const* const data = reinterpret_cast<std::int64_t volatile*>(memory.own(data_kind) + 64);
      std::int64_t seen = 0;
      for (double const start = MPI_Wtime(); seen < rounds && MPI_Wtime() - start < 30;) {
        seen = *flag;
        std::atomic_thread_fence(std::memory_order_acquire);
        ASSERT_GE(data[count - 1], seen);
        ASSERT_GE(data[0], seen);
      }
      EXPECT_EQ(seen, rounds);
    }
    MPI_Barrier(world);
  }
}

TEST_F(X52, X52_05_request_before_a_fence_completes) {
  // A fence returns after a large transfer was issued; the transfer's request still reports its completion.
  fill(0);
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    std::vector<char> values(bytes, 4);
    MPI_Request request = MPI_REQUEST_NULL;
    ASSERT_EQ(transfer(MPIX_RMA_PUT, values.data(), bytes, MPI_CHAR, next_, there(kind),
                       MPIX_RMA_ATTR_REMOTE_COMPLETION, &request),
              MPI_SUCCESS);
    ASSERT_EQ(MPIX_RMA_Fence(&world, next_), MPI_SUCCESS);
    char const five = 5;
    ASSERT_EQ(transfer(MPIX_RMA_PUT, const_cast<char*>(&five), 1, MPI_CHAR, next_, there(kind, 100)),
              MPI_SUCCESS);
    ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    ASSERT_EQ(MPIX_RMA_Complete(&world, next_), MPI_SUCCESS);
    MPI_Barrier(world);
    EXPECT_EQ(own<char>(kind, 100), 5);
    EXPECT_EQ(own<char>(kind, 101), 4);
    MPI_Barrier(world);
  }
}

TEST_F(X52, X52_06_operations_before_a_fence_are_visible_first) { flags_follow_data(memory_, size_ - 1); }

TEST_F(X52, X52_07_fence_of_all_ranks_orders_each_of_them) { flags_follow_data(memory_, MPIX_ALL_RANKS); }

/// Rank 0 puts data to the last rank and, after a fence of all ranks, a flag to the rank before the last,
/// which gets the data when it sees the flag.
TEST_F(X52, X52_07_fence_of_all_ranks_orders_different_ranks) {
  if (size_ < 3) GTEST_SKIP() << "three ranks are needed";
  constexpr std::int64_t rounds = 200;
  constexpr int count = 500;
  int const holder = size_ - 1;
  int const reader = size_ - 2;
  int stale = 0;
  fill(0);
  for (int kinds = 0; kinds < Memory::kinds * Memory::kinds; ++kinds) {
    int const data_kind = kinds % Memory::kinds;
    int const flag_kind = kinds / Memory::kinds;
    MPI_Barrier(world);
    for (std::int64_t round = 1; round <= rounds; ++round) {
      std::int64_t const stamp = kinds * rounds + round;
      if (rank_ == 0) {
        std::vector<std::int64_t> const data(count, stamp);
        ASSERT_EQ(transfer(MPIX_RMA_PUT, const_cast<std::int64_t*>(data.data()), count, MPI_INT64_T, holder,
                           memory_.at(holder, data_kind, 64)),
                  MPI_SUCCESS);
        ASSERT_EQ(MPIX_RMA_Fence(&world, MPIX_ALL_RANKS), MPI_SUCCESS);
        ASSERT_EQ(
            transfer(MPIX_RMA_PUT, const_cast<std::int64_t*>(&stamp), 1, MPI_INT64_T, reader,
                     memory_.at(reader, flag_kind), MPIX_RMA_ATTR_REMOTE_COMPLETION | MPIX_RMA_ATTR_BLOCKING),
            MPI_SUCCESS);
        ASSERT_EQ(MPIX_RMA_Complete(&world, MPIX_ALL_RANKS), MPI_SUCCESS);
      }
      if (rank_ == reader) {
        auto const* const flag = reinterpret_cast<std::int64_t volatile*>(memory_.own(flag_kind));
        for (double const start = MPI_Wtime(); *flag < stamp && MPI_Wtime() - start < 30;) {
          int progressed = 0;
          MPI_Iprobe(MPI_ANY_SOURCE, 99, world, &progressed, MPI_STATUS_IGNORE);
        }
        std::atomic_thread_fence(std::memory_order_acquire);
        std::int64_t last = 0;
        ASSERT_EQ(transfer(MPIX_RMA_GET, &last, 1, MPI_INT64_T, holder,
                           memory_.at(holder, data_kind, 64 + 8 * (count - 1)), MPIX_RMA_ATTR_BLOCKING),
                  MPI_SUCCESS);
        stale += last < stamp ? 1 : 0;
      }
    }
  }
  MPI_Barrier(world);
  EXPECT_EQ(stale, 0);
}

}  // namespace
}  // namespace mpixrma::test
