/// Epochs without barriers between them: random graphs of MPI_Win_post and MPI_Win_start, and mixtures of
/// locks.
#include <thread>

#include "tests/attacks/windows/attack.hpp"

namespace mpixrma::test {
namespace {

class Epochs : public FlavourTest {
 protected:
  long& word(Window const& window, int index) const { return window.base<long>()[index]; }
  void add_by_put(Window& window, int target, int index) const {
    MPI_Aint const at = window.at(target, 8 * MPI_Aint{index});
    long value = 0;
    MPI_Get(&value, 1, MPI_LONG, target, at, 1, MPI_LONG, window);
    MPI_Win_flush(target, window);
    ++value;
    MPI_Put(&value, 1, MPI_LONG, target, at, 1, MPI_LONG, window);
    MPI_Win_flush_local(target, window);
  }
};

MPI_Group group_of(MPI_Group all, std::vector<int> const& ranks) {
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &group);
  return group;
}

TEST_P(Epochs, PostAndStartMatchInRandomGraphs) {
  constexpr int counter = 1000;
  Window window(GetParam(), 8 * (counter + 1), 1);
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Win_get_group(window, &all);
  Random random(7);  // the same graphs at all processes
  long arrivals = 0;
  for (long round = 1; round <= rounds(150); ++round) {
    std::vector<int> origins;
    std::vector<int> targets;
    for (int from = 0; from < size_; ++from)
      for (int to = 0; to < size_; ++to) {
        if (!random.chance(2)) continue;
        if (to == rank_) origins.push_back(from);
        if (from == rank_) targets.push_back(to);
      }
    MPI_Group post = group_of(all, origins);
    MPI_Group start = group_of(all, targets);
    if (!origins.empty()) MPI_Win_post(post, 0, window);
    if (!targets.empty()) MPI_Win_start(start, 0, window);
    MPI_Group_free(&post);
    MPI_Group_free(&start);
    long const one = 1;
    for (int const target : targets) {
      MPI_Put(&round, 1, MPI_LONG, target, window.at(target, 8 * MPI_Aint{rank_}), 1, MPI_LONG, window);
      MPI_Accumulate(&one, 1, MPI_LONG, target, window.at(target, 8 * counter), 1, MPI_LONG, MPI_SUM, window);
    }
    if (!targets.empty()) MPI_Win_complete(window);
    if (origins.empty()) continue;
    int done = 0;
    if (round % 2 == 0) MPI_Win_wait(window);
    while (round % 2 != 0 && done == 0) MPI_Win_test(window, &done);
    for (int const origin : origins) ASSERT_EQ(word(window, origin), round) << "from " << origin;
    arrivals += static_cast<long>(origins.size());
    ASSERT_EQ(word(window, counter), arrivals) << "round " << round;
  }
  MPI_Group_free(&all);
}

/// Increments under exclusive locks by get and put, under shared ones by accumulate, in two windows.
TEST_P(Epochs, MixedLocksProtectUpdates) {
  Window first(GetParam(), 64);
  Window second(Flavour::create, 64);
  Random random(100 + static_cast<std::uint64_t>(rank_));
  std::vector<long> counts(3 * static_cast<std::size_t>(size_));
  auto const counted = [&](int kind, int target) -> long& {
    return counts[static_cast<std::size_t>(kind * size_ + target)];
  };
  static long const one = 1;
  static long before = 0;
  for (int round = 0; round < rounds(600); ++round) {
    int const target = random.below(size_);
    int const other = random.below(size_);
    switch (random.below(5)) {
      case 0:
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, first);
        add_by_put(first, target, 0);
        MPI_Win_unlock(target, first);
        ++counted(0, target);
        break;
      case 1:
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, first);
        MPI_Accumulate(&one, 1, MPI_LONG, target, first.at(target, 8), 1, MPI_LONG, MPI_SUM, first);
        MPI_Win_unlock(target, first);
        ++counted(1, target);
        break;
      case 2:
        MPI_Win_lock_all(0, first);
        for (int const rank : {target, other}) {
          MPI_Fetch_and_op(&one, &before, MPI_LONG, rank, first.at(rank, 8), MPI_SUM, first);
          MPI_Win_flush_local(rank, first);
          ++counted(1, rank);
        }
        MPI_Win_unlock_all(first);
        break;
      case 3:
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, first);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, other, 0, second);
        add_by_put(second, other, 0);
        MPI_Win_unlock(other, second);
        MPI_Win_unlock(target, first);
        ++counted(2, other);
        break;
      default:
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank_, 0, first);
        ++word(first, 0);
        MPI_Win_unlock(rank_, first);
        ++counted(0, rank_);
    }
  }
  MPI_Allreduce(MPI_IN_PLACE, counts.data(), static_cast<int>(counts.size()), MPI_LONG, MPI_SUM, world);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank_, 0, first);
  EXPECT_EQ(word(first, 0), counted(0, rank_));
  EXPECT_EQ(word(first, 1), counted(1, rank_));
  MPI_Win_unlock(rank_, first);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank_, 0, second);
  EXPECT_EQ(word(second, 0), counted(2, rank_));
  MPI_Win_unlock(rank_, second);
}

/// Threads lock their own targets in one window while others create windows.
TEST_P(Epochs, ThreadsLockAndCreateAtTheSameTime) {
  constexpr int threads = 2;
  int const times = rounds(15);
  Window window(GetParam(), 64);
  MPI_Comm own[threads];
  for (MPI_Comm& comm : own) MPI_Comm_dup(world, &comm);
  auto const lock = [&](int thread) {
    for (int i = 0; i < times; ++i)
      for (int target = thread; target < size_; target += threads) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window);
        add_by_put(window, target, 0);
        MPI_Win_unlock(target, window);
      }
  };
  auto const create = [&](int thread) {
    for (int i = 0; i < times / 5; ++i) {
      Window made(i % 2 == 0 ? Flavour::create : Flavour::allocate, 64, 1, MPI_INFO_NULL, own[thread]);
      long const one = 1;
      MPI_Win_fence(0, made);
      for (int target = 0; target < size_; ++target)
        MPI_Accumulate(&one, 1, MPI_LONG, target, 0, 1, MPI_LONG, MPI_SUM, made);
      MPI_Win_fence(0, made);
      EXPECT_EQ(word(made, 0), size_);
    }
  };
  std::vector<std::thread> running;
  for (int thread = 0; thread < threads; ++thread) {
    running.emplace_back(lock, thread);
    running.emplace_back(create, thread);
  }
  for (std::thread& thread : running) thread.join();
  MPI_Barrier(world);
  EXPECT_EQ(word(window, 0), static_cast<long>(times) * size_);
  for (MPI_Comm& comm : own) MPI_Comm_free(&comm);
}

MPIX_ON_EACH_FLAVOUR(Epochs);

}  // namespace
}  // namespace mpixrma::test
