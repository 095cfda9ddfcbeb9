/// Epochs: their guarantees, and that they do not block each other.
#include <algorithm>

#include "tests/windows/support.hpp"

namespace mpixrma::test {
namespace {

class Epochs : public FlavourTest {};
MPIX_ON_EACH_FLAVOUR(Epochs);

TEST_P(Epochs, W1151_01_fences_separate) {
  Window const window(GetParam(), 64);
  for (int round = 0; round < 50; ++round) {
    long const number = round * 10 + rank_;
    EXPECT_EQ(MPI_Win_fence(round == 0 ? MPI_MODE_NOPRECEDE : 0, window), MPI_SUCCESS);
    MPI_Put(&number, 1, MPI_LONG, next_, window.at(next_, 8), 1, MPI_LONG, window);
    EXPECT_EQ(MPI_Win_fence(0, window), MPI_SUCCESS);
    EXPECT_EQ(window.base<long>()[1], round * 10 + previous_);
  }
  EXPECT_EQ(MPI_Win_fence(MPI_MODE_NOSUCCEED | MPI_MODE_NOSTORE, window), MPI_SUCCESS);
}

TEST_P(Epochs, W1155_01_fences_with_every_assertion) {
  Window const window(GetParam(), 64);
  for (int round = 0; round < 20; ++round) {
    EXPECT_EQ(MPI_Win_fence(MPI_MODE_NOPRECEDE, window), MPI_SUCCESS);
    window.base<long>()[2] = round;  // a store of the owner, before a fence without NOSTORE
    EXPECT_EQ(MPI_Win_fence(MPI_MODE_NOPUT, window), MPI_SUCCESS);
    long seen = -1;
    MPI_Get(&seen, 1, MPI_LONG, next_, window.at(next_, 16), 1, MPI_LONG, window);
    EXPECT_EQ(MPI_Win_fence(MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOSUCCEED, window), MPI_SUCCESS);
    EXPECT_EQ(seen, round);
    MPI_Barrier(world);
  }
}

TEST_P(Epochs, W1152_01_post_start_complete_wait_around_a_ring) {
  Window const window(GetParam(), 64);
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group to = MPI_GROUP_NULL;
  MPI_Group from = MPI_GROUP_NULL;
  MPI_Win_get_group(window, &all);
  MPI_Group_incl(all, 1, &next_, &to);
  MPI_Group_incl(all, 1, &previous_, &from);
  for (int round = 0; round < 100; ++round) {
    long const number = round * 100 + rank_;
    EXPECT_EQ(MPI_Win_post(from, round % 2 == 0 ? 0 : MPI_MODE_NOSTORE, window), MPI_SUCCESS);
    EXPECT_EQ(MPI_Win_start(to, 0, window), MPI_SUCCESS);
    MPI_Put(&number, 1, MPI_LONG, next_, window.at(next_, 0), 1, MPI_LONG, window);
    EXPECT_EQ(MPI_Win_complete(window), MPI_SUCCESS);
    if (round % 3 == 0) {
      int done = 0;
      while (done == 0) ASSERT_EQ(MPI_Win_test(window, &done), MPI_SUCCESS);
    } else {
      EXPECT_EQ(MPI_Win_wait(window), MPI_SUCCESS);
    }
    ASSERT_EQ(window.base<long>()[0], round * 100 + previous_);
  }
  for (MPI_Group* const group : {&all, &to, &from}) MPI_Group_free(group);
}

TEST_P(Epochs, W1152_02_many_origins_one_target) {
  Window const window(GetParam(), 8 * 64);
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group first = MPI_GROUP_NULL;
  MPI_Win_get_group(window, &all);
  int const zero = 0;
  MPI_Group_incl(all, 1, &zero, &first);
  for (int round = 0; round < 30; ++round) {
    long const number = round + rank_;
    if (rank_ == 0) MPI_Win_post(all, 0, window);  // itself among them
    MPI_Win_start(first, 0, window);
    MPI_Put(&number, 1, MPI_LONG, 0, window.at(0, 8 * rank_), 1, MPI_LONG, window);
    MPI_Win_complete(window);
    if (rank_ == 0) {
      MPI_Win_wait(window);
      for (int rank = 0; rank < size_; ++rank) EXPECT_EQ(window.base<long>()[rank], round + rank);
    }
  }
  MPI_Group_free(&all);
  MPI_Group_free(&first);
}

TEST_P(Epochs, W1152_03_empty_groups) {
  Window const window(GetParam(), 64);
  EXPECT_EQ(MPI_Win_post(MPI_GROUP_EMPTY, 0, window), MPI_SUCCESS);
  EXPECT_EQ(MPI_Win_start(MPI_GROUP_EMPTY, 0, window), MPI_SUCCESS);
  EXPECT_EQ(MPI_Win_complete(window), MPI_SUCCESS);
  EXPECT_EQ(MPI_Win_wait(window), MPI_SUCCESS);
}

TEST_P(Epochs, W1152_04_test_does_not_wait) {
  Window const window(GetParam(), 64);
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group peer = MPI_GROUP_NULL;
  MPI_Win_get_group(window, &all);
  MPI_Group_incl(all, 1, rank_ % 2 == 0 ? &next_ : &previous_, &peer);
  bool const pairs = size_ % 2 == 0;
  if (pairs && rank_ % 2 == 0) {
    MPI_Win_post(peer, 0, window);
    int done = 1;
    EXPECT_EQ(MPI_Win_test(window, &done), MPI_SUCCESS);
    EXPECT_EQ(done, 0);
    MPI_Barrier(world);
    while (done == 0) MPI_Win_test(window, &done);
    EXPECT_EQ(window.base<long>()[0], rank_ + 1);
  } else if (pairs) {
    MPI_Barrier(world);
    long const number = rank_;
    MPI_Win_start(peer, 0, window);
    MPI_Put(&number, 1, MPI_LONG, previous_, window.at(previous_, 0), 1, MPI_LONG, window);
    MPI_Win_complete(window);
  }
  MPI_Group_free(&all);
  MPI_Group_free(&peer);
}

TEST_P(Epochs, W1153_01_exclusive_locks_exclude) {
  Window const window(GetParam(), 64);
  constexpr int rounds = 100;
  MPI_Barrier(world);
  for (int i = 0; i < rounds; ++i) {
    // A read and a write that must not be interrupted.
    long value = -1;
    ASSERT_EQ(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window), MPI_SUCCESS);
    MPI_Get(&value, 1, MPI_LONG, 0, window.at(0, 0), 1, MPI_LONG, window);
    ASSERT_EQ(MPI_Win_flush(0, window), MPI_SUCCESS);
    ++value;
    MPI_Put(&value, 1, MPI_LONG, 0, window.at(0, 0), 1, MPI_LONG, window);
    ASSERT_EQ(MPI_Win_unlock(0, window), MPI_SUCCESS);
  }
  MPI_Barrier(world);
  MPI_Win_lock(MPI_LOCK_SHARED, rank_, 0, window);
  if (rank_ == 0) EXPECT_EQ(window.base<long>()[0], rounds * size_);
  MPI_Win_unlock(rank_, window);
}

TEST_P(Epochs, W1153_02_shared_locks_are_held_together) {
  Window const window(GetParam(), 64);
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
  MPI_Barrier(world);  // all of them hold it
  long const one = 1;
  MPI_Accumulate(&one, 1, MPI_LONG, 0, window.at(0, 0), 1, MPI_LONG, MPI_SUM, window);
  MPI_Win_unlock(0, window);
  MPI_Barrier(world);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank_, 0, window);
  if (rank_ == 0) EXPECT_EQ(window.base<long>()[0], size_);
  MPI_Win_unlock(rank_, window);
}

TEST_P(Epochs, W1153_03_exclusive_lock_excludes_shared_ones) {
  if (size_ < 2) GTEST_SKIP() << "for two ranks";
  Window const window(GetParam(), 64);
  int const last = size_ - 1;
  if (rank_ == last) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    long number = 1;
    MPI_Put(&number, 1, MPI_LONG, 0, window.at(0, 0), 1, MPI_LONG, window);
    MPI_Win_flush(0, window);
    MPI_Barrier(world);
    compute_for(0.05);
    number = 2;
    MPI_Put(&number, 1, MPI_LONG, 0, window.at(0, 0), 1, MPI_LONG, window);
    MPI_Win_unlock(0, window);
  } else {
    long seen = 0;
    MPI_Barrier(world);
    if (rank_ % 2 == 0) {
      MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    } else {
      MPI_Win_lock_all(0, window);
    }
    MPI_Get(&seen, 1, MPI_LONG, 0, window.at(0, 0), 1, MPI_LONG, window);
    if (rank_ % 2 == 0) {
      MPI_Win_unlock(0, window);
    } else {
      MPI_Win_unlock_all(window);
    }
    EXPECT_EQ(seen, 2);
  }
}

TEST_P(Epochs, W1153_04_locks_of_several_targets_and_windows) {
  Window const first(GetParam(), 64);
  Window const second(Flavour::allocate, 64);
  long const number = 3 + rank_;
  for (int round = 0; round < 20; ++round) {
    for (int target = 0; target < size_; ++target) MPI_Win_lock(MPI_LOCK_SHARED, target, 0, first);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, second);
    MPI_Put(&number, 1, MPI_LONG, next_, first.at(next_, 0), 1, MPI_LONG, first);
    MPI_Put(&number, 1, MPI_LONG, next_, second.at(next_, 8), 1, MPI_LONG, second);
    for (int target = size_ - 1; target >= 0; --target) EXPECT_EQ(MPI_Win_unlock(target, first), MPI_SUCCESS);
    EXPECT_EQ(MPI_Win_unlock_all(second), MPI_SUCCESS);
  }
  MPI_Barrier(world);
  EXPECT_EQ(first.base<long>()[0], 3 + previous_);
  EXPECT_EQ(second.base<long>()[1], 3 + previous_);
}

TEST_P(Epochs, W1153_05_NOCHECK_without_conflicts) {
  Window const window(GetParam(), 64);
  for (int round = 0; round < 50; ++round) {
    long const number = round + rank_;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next_, MPI_MODE_NOCHECK, window);
    MPI_Put(&number, 1, MPI_LONG, next_, window.at(next_, 0), 1, MPI_LONG, window);
    MPI_Win_unlock(next_, window);
    MPI_Barrier(world);
    EXPECT_EQ(window.base<long>()[0], round + previous_);
    MPI_Barrier(world);
  }
  // The lock is free, and can be taken.
  EXPECT_EQ(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window), MPI_SUCCESS);
  EXPECT_EQ(MPI_Win_unlock(0, window), MPI_SUCCESS);
}

// The operations acquire the locks of MPI_Win_lock_all, here in opposite orders, while other ranks wait for
// an exclusive lock of one target each.
TEST_P(Epochs, W1153_07_epochs_of_all_targets_do_not_wait_for_each_other) {
  if (size_ < 4) GTEST_SKIP() << "needs four ranks";
  Window const window(GetParam(), 64);
  long const one = 1;
  for (int round = 0; round < 3; ++round) {
    if (rank_ < 2) {
      int const first = 2 + rank_;
      int const second = 3 - rank_;
      MPI_Win_lock_all(0, window);
      MPI_Accumulate(&one, 1, MPI_LONG, first, window.at(first, 0), 1, MPI_LONG, MPI_SUM, window);
      MPI_Win_flush(first, window);
      MPI_Barrier(world);
      compute_for(0.02);  // the others wait for their locks meanwhile
      MPI_Accumulate(&one, 1, MPI_LONG, second, window.at(second, 0), 1, MPI_LONG, MPI_SUM, window);
      EXPECT_EQ(MPI_Win_unlock_all(window), MPI_SUCCESS);
    } else {
      int const alone = rank_ < 4 ? rank_ : 2;
      MPI_Barrier(world);
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, alone, 0, window);
      MPI_Accumulate(&one, 1, MPI_LONG, alone, window.at(alone, 0), 1, MPI_LONG, MPI_SUM, window);
      EXPECT_EQ(MPI_Win_unlock(alone, window), MPI_SUCCESS);
    }
    MPI_Barrier(world);
  }
  if (rank_ == 2 || rank_ == 3) {
    EXPECT_EQ(window.base<long>()[0], 3 * (rank_ == 2 ? size_ - 1 : 3));
  }
}

TEST_P(Epochs, W1154_01_flush_completes_at_the_target) {
  Window const window(GetParam(), 1 << 16);
  std::vector<long> const data(8192, rank_ + 5);
  MPI_Win_lock_all(0, window);
  for (int round = 0; round < 10; ++round) {
    MPI_Put(data.data(), 8192, MPI_LONG, next_, window.at(next_, 0), 8192, MPI_LONG, window);
    EXPECT_EQ(round % 2 == 0 ? MPI_Win_flush(next_, window) : MPI_Win_flush_all(window), MPI_SUCCESS);
    MPI_Barrier(world);
    MPI_Win_sync(window);
    EXPECT_EQ(window.base<long>()[8191], previous_ + 5);
    MPI_Barrier(world);
    window.base<long>()[8191] = 0;
    MPI_Win_sync(window);
    MPI_Barrier(world);
  }
  MPI_Win_unlock_all(window);
}

TEST_P(Epochs, W1154_02_local_flush_frees_the_origin) {
  constexpr int count = 16000;
  Window const window(GetParam(), count * 8);
  std::vector<long> data(count);
  MPI_Win_lock_all(0, window);
  for (int round = 0; round < 20; ++round) {
    std::fill(data.begin(), data.end(), round);
    MPI_Put(data.data(), count, MPI_LONG, next_, window.at(next_, 0), count, MPI_LONG, window);
    EXPECT_EQ(round % 2 == 0 ? MPI_Win_flush_local(next_, window) : MPI_Win_flush_local_all(window),
              MPI_SUCCESS);
    std::fill(data.begin(), data.end(), -1);
    MPI_Win_flush(next_, window);
    MPI_Barrier(world);
    MPI_Win_sync(window);
    EXPECT_EQ(std::count(window.base<long>(), window.base<long>() + count, round), count);
    MPI_Barrier(world);
  }
  MPI_Win_unlock_all(window);
}

TEST_P(Epochs, W1154_03_get_is_complete_after_a_local_flush) {
  Window const window(GetParam(), 4096);
  std::fill(window.base<long>(), window.base<long>() + 512, rank_ + 3);
  MPI_Barrier(world);
  MPI_Win_lock_all(0, window);
  std::vector<long> data(512);
  MPI_Get(data.data(), 512, MPI_LONG, next_, window.at(next_, 0), 512, MPI_LONG, window);
  MPI_Win_flush_local(next_, window);
  EXPECT_EQ(std::count(data.begin(), data.end(), next_ + 3), 512);
  MPI_Win_unlock_all(window);
}

TEST_P(Epochs, W115_01_windows_are_in_epochs_of_different_kinds_at_once) {
  Window const fenced(GetParam(), 64);
  Window const posted(GetParam(), 64);
  Window const locked(GetParam(), 64);
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Win_get_group(posted, &all);
  long const number = 60 + rank_;
  for (int round = 0; round < 5; ++round) {
    MPI_Win_fence(0, fenced);
    MPI_Win_post(all, 0, posted);
    MPI_Win_lock_all(0, locked);
    MPI_Win_start(all, 0, posted);
    MPI_Put(&number, 1, MPI_LONG, next_, fenced.at(next_, 0), 1, MPI_LONG, fenced);
    MPI_Put(&number, 1, MPI_LONG, next_, posted.at(next_, 0), 1, MPI_LONG, posted);
    MPI_Put(&number, 1, MPI_LONG, next_, locked.at(next_, 0), 1, MPI_LONG, locked);
    MPI_Win_fence(0, fenced);
    EXPECT_EQ(fenced.base<long>()[0], 60 + previous_);
    MPI_Win_unlock_all(locked);
    MPI_Win_complete(posted);
    MPI_Win_wait(posted);
    EXPECT_EQ(posted.base<long>()[0], 60 + previous_);
    MPI_Barrier(world);
    EXPECT_EQ(locked.base<long>()[0], 60 + previous_);
  }
  MPI_Group_free(&all);
}

TEST_P(Epochs, W115_02_kinds_follow_each_other_on_one_window) {
  Window const window(GetParam(), 64);
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Win_get_group(window, &all);
  long const one = 1;
  for (int round = 1; round <= 10; ++round) {
    MPI_Win_fence(0, window);
    MPI_Accumulate(&one, 1, MPI_LONG, next_, window.at(next_, 0), 1, MPI_LONG, MPI_SUM, window);
    MPI_Win_fence(0, window);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next_, 0, window);
    MPI_Accumulate(&one, 1, MPI_LONG, next_, window.at(next_, 0), 1, MPI_LONG, MPI_SUM, window);
    MPI_Win_unlock(next_, window);
    MPI_Barrier(world);
    MPI_Win_post(all, 0, window);
    MPI_Win_start(all, 0, window);
    MPI_Accumulate(&one, 1, MPI_LONG, next_, window.at(next_, 0), 1, MPI_LONG, MPI_SUM, window);
    MPI_Win_complete(window);
    MPI_Win_wait(window);
    EXPECT_EQ(window.base<long>()[0], 3 * round);
    MPI_Barrier(world);
  }
  MPI_Group_free(&all);
}

/// All ranks acquire one lock repeatedly until each has had 50 turns. A starving rank fails the test by its
/// time limit, not by a limit of turns: a near rank takes hundreds of turns while messages travel.
TEST_F(WindowTest, ContendedLocksAreFair) {
  constexpr long turns = 50;
  Window const window(Flavour::allocate, 64);
  long mine = 0;
  long counts[2] = {0, 0};  // turns of all ranks; ranks that have had all their turns
  MPI_Barrier(world);
  while (counts[1] < size_) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    MPI_Get(counts, 2, MPI_LONG, 0, window.at(0, 0), 2, MPI_LONG, window);
    MPI_Win_flush(0, window);
    ++counts[0];
    if (++mine == turns) ++counts[1];
    MPI_Put(counts, 2, MPI_LONG, 0, window.at(0, 0), 2, MPI_LONG, window);
    MPI_Win_unlock(0, window);
  }
  MPI_Barrier(world);
  long sum = 0;
  MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, world);
  EXPECT_GE(mine, turns);
  if (rank_ == 0) EXPECT_EQ(window.base<long>()[0], sum);
}

}  // namespace
}  // namespace mpixrma::test
