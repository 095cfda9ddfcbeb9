/// Communication calls are local: they return although the target has not posted, or another process holds
/// the lock, and the operations take effect later, in their order.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "tests/windows/queued_support.hpp"

namespace mpixrma::test {
namespace {

MPI_Group group_of(Window const& window, std::vector<int> const& ranks) {
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group some = MPI_GROUP_NULL;
  MPI_Win_get_group(window, &all);
  MPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &some);
  MPI_Group_free(&all);
  return some;
}

void start(Window const& window, std::vector<int> const& targets) {
  MPI_Group group = group_of(window, targets);
  EXPECT_EQ(MPI_Win_start(group, 0, window), MPI_SUCCESS);
  MPI_Group_free(&group);
}
void post(Window const& window, int from) {
  MPI_Group group = group_of(window, {from});
  EXPECT_EQ(MPI_Win_post(group, 0, window), MPI_SUCCESS);
  MPI_Group_free(&group);
}

MPIX_ON_EACH_FLAVOUR(LocalCalls);

TEST_P(LocalCalls, W113_05_operations_wait_for_the_post) {
  Window const window(GetParam(), bytes);
  if (rank_ == origin) {
    AllKinds kinds;
    start(window, {last_});
    kinds.issue(window, last_);
    if (last_ != origin) send_signal(last_);
    if (last_ == origin) post(window, origin);
    EXPECT_EQ(MPI_Win_complete(window), MPI_SUCCESS);
    kinds.expect_results();
  }
  if (rank_ == last_) {
    if (last_ != origin) {
      await_signal(origin);
      AllKinds::expect_nothing_at(window);
      post(window, origin);
    }
    EXPECT_EQ(MPI_Win_wait(window), MPI_SUCCESS);
    AllKinds::expect_all_at(window);
  }
}

TEST_P(LocalCalls, W113_05_targets_post_one_after_the_other) {
  Window const window(GetParam(), bytes);
  if (size_ < 3) return;
  if (rank_ == 0) {
    AllKinds first;
    AllKinds second;
    start(window, {2, 1});
    first.issue(window, 2);
    second.issue(window, 1);
    EXPECT_EQ(MPI_Win_complete(window), MPI_SUCCESS);
    first.expect_results();
    second.expect_results();
  } else if (rank_ < 3) {
    if (rank_ == 2) await_signal(1);
    post(window, 0);
    EXPECT_EQ(MPI_Win_wait(window), MPI_SUCCESS);
    if (rank_ == 1) send_signal(2);
    AllKinds::expect_all_at(window);
  }
}

TEST_P(LocalCalls, W113_05_many_epochs_with_late_post) {
  Window const window(GetParam(), bytes);
  if (size_ == 1) return;
  for (long round = 1; round <= 50; ++round) {
    if (rank_ == origin) {
      long before = -1;
      start(window, {last_});
      MPI_Fetch_and_op(&round, &before, MPI_LONG, last_, window.at(last_, 0), MPI_SUM, window);
      MPI_Put(&round, 1, MPI_LONG, last_, window.at(last_, 8), 1, MPI_LONG, window);
      send_signal(last_);
      MPI_Win_complete(window);
      ASSERT_EQ(before, round * (round - 1) / 2);
    }
    if (rank_ == last_) {
      await_signal(origin);
      post(window, origin);
      MPI_Win_wait(window);
      ASSERT_EQ(window.base<long>()[0], round * (round + 1) / 2);
      ASSERT_EQ(window.base<long>()[1], round);
    }
  }
}

TEST_P(LocalCalls, W113_05_threads_share_the_wait_for_the_post) {
  Window const window(GetParam(), bytes);
  if (size_ == 1) return;
  constexpr int calls = 200;
  if (rank_ == origin) {
    std::array<std::array<long, calls>, 3> before{};
    std::array<int, 3> worked{};
    long const one = 1;
    start(window, {last_});
    bool told = false;
    on_threads([&](int thread) {
      auto const index = static_cast<std::size_t>(thread);
      worked[index] = 1;
      for (int i = 0; i < calls; ++i) {
        if (thread == 0 && i == calls / 2) {
          send_signal(last_);
          told = true;
        }
        MPI_Fetch_and_op(&one, &before[index][static_cast<std::size_t>(i)], MPI_LONG, last_,
                         window.at(last_, 8 * thread), MPI_SUM, window);
      }
    });
    EXPECT_TRUE(told);
    EXPECT_EQ(MPI_Win_complete(window), MPI_SUCCESS);
    for (std::size_t thread = 0; thread < before.size(); ++thread) {
      for (long i = 0; worked[thread] != 0 && i < calls; ++i)
        ASSERT_EQ(before[thread][static_cast<std::size_t>(i)], i) << thread;
    }
  }
  if (rank_ == last_) {
    await_signal(origin);
    post(window, origin);
    EXPECT_EQ(MPI_Win_wait(window), MPI_SUCCESS);
    EXPECT_EQ(window.base<long>()[0], calls);
  }
}

TEST_P(LocalCalls, W113_05_failure_reaches_the_end_of_the_epoch) {
  if (GetParam() != Flavour::dynamic || size_ == 1) return;
  Window const window(GetParam(), bytes);
  if (rank_ == origin) {
    long const value = 1;
    start(window, {last_});
    EXPECT_EQ(MPI_Put(&value, 1, MPI_LONG, last_, 64, 1, MPI_LONG, window), MPI_SUCCESS);
    EXPECT_EQ(MPI_Put(&value, 1, MPI_LONG, last_, window.at(last_, 0), 1, MPI_LONG, window), MPI_SUCCESS);
    send_signal(last_);
    int const code = MPI_Win_complete(window);
    EXPECT_EQ(class_of(code), MPI_ERR_RMA_RANGE);
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    EXPECT_NE(std::string(text).find("a put of 8 bytes at displacement 64"), std::string::npos) << text;
  }
  if (rank_ == last_) {
    await_signal(origin);
    post(window, origin);
    EXPECT_EQ(MPI_Win_wait(window), MPI_SUCCESS);
    EXPECT_EQ(window.base<long>()[0], 1);
  }
}

TEST_P(LocalCalls, W113_05_operations_of_lock_all_wait_for_the_lock) {
  if (waits_for_locks()) return;
  using End = int (*)(int, MPI_Win);
  std::vector<End> const ends = {
      [](int target, MPI_Win win) { return MPI_Win_flush(target, win); },
      [](int, MPI_Win win) { return MPI_Win_flush_all(win); },
      [](int target, MPI_Win win) { return MPI_Win_flush_local(target, win); },
      [](int, MPI_Win win) { return MPI_Win_flush_local_all(win); },
      [](int, MPI_Win) { return MPI_SUCCESS; },
  };
  for (End const end : ends) {
    Window const window(GetParam(), bytes);
    while_locked(window, [&] {
      AllKinds kinds;
      EXPECT_EQ(MPI_Win_lock_all(0, window), MPI_SUCCESS);
      kinds.issue(window, last_);
      send_signal(last_);
      EXPECT_EQ(end(last_, window), MPI_SUCCESS);
      if (end != ends.back()) kinds.expect_results();
      EXPECT_EQ(MPI_Win_unlock_all(window), MPI_SUCCESS);
      kinds.expect_results();
    });
    if (rank_ == last_) AllKinds::expect_all_at(window);
  }
}

TEST_P(LocalCalls, W113_05_buffer_may_be_reused_after_flush_local) {
  if (waits_for_locks()) return;
  Window const window(GetParam(), bytes);
  while_locked(window, [&] {
    std::vector<long> values(large, 5);
    MPI_Win_lock_all(0, window);
    MPI_Put(values.data(), large, MPI_LONG, last_, window.at(last_, 0), large, MPI_LONG, window);
    send_signal(last_);
    EXPECT_EQ(MPI_Win_flush_local(last_, window), MPI_SUCCESS);
    std::fill(values.begin(), values.end(), 6);
    MPI_Win_unlock_all(window);
  });
  if (rank_ == last_) EXPECT_EQ(std::count(window.base<long>(), window.base<long>() + large, 5L), large);
}

TEST_P(LocalCalls, W113_05_requests_progress_by_waits_alone) {
  if (waits_for_locks()) return;
  Window const window(GetParam(), bytes);
  while_locked(window, [&] {
    std::vector<long> values(large, 9);
    std::vector<long> got(large, -1);
    long const one = 1;
    long before = -1;
    MPI_Aint const place = window.at(last_, 0);
    std::array<MPI_Request, 4> requests{};
    MPI_Win_lock_all(0, window);
    MPI_Rput(values.data(), large, MPI_LONG, last_, place, large, MPI_LONG, window, &requests[0]);
    MPI_Raccumulate(&one, 1, MPI_LONG, last_, place, 1, MPI_LONG, MPI_SUM, window, &requests[1]);
    MPI_Rget_accumulate(&one, 1, MPI_LONG, &before, 1, MPI_LONG, last_, place, 1, MPI_LONG, MPI_SUM, window,
                        &requests[2]);
    MPI_Rget(got.data(), large, MPI_LONG, last_, place, large, MPI_LONG, window, &requests[3]);
    int done = 1;
    EXPECT_EQ(MPI_Test(&requests[3], &done, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(done, 0);
    send_signal(last_);
    for (done = 0; done == 0;) ASSERT_EQ(MPI_Test(&requests[3], &done, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(MPI_Waitall(3, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(before, 10);
    EXPECT_EQ(got[0], 11);
    EXPECT_EQ(std::count(got.begin() + 1, got.end(), 9L), large - 1);
    EXPECT_EQ(MPI_Win_unlock_all(window), MPI_SUCCESS);
  });
  if (rank_ == last_) EXPECT_EQ(window.base<long>()[0], 11);
}

/// Operations on a second target, which is not locked, complete while operations on the first one wait.
TEST_P(LocalCalls, W113_05_other_targets_do_not_wait) {
  if (waits_for_locks() || size_ < 3) return;
  Window const window(GetParam(), bytes);
  while_locked(window, [&] {
    AllKinds locked;
    AllKinds free;
    MPI_Win_lock_all(0, window);
    locked.issue(window, last_);
    free.issue(window, 1);
    EXPECT_EQ(MPI_Win_flush(1, window), MPI_SUCCESS);
    free.expect_results();
    send_signal(last_);
    EXPECT_EQ(MPI_Win_unlock_all(window), MPI_SUCCESS);
    locked.expect_results();
  });
  if (rank_ == 1 || rank_ == last_) AllKinds::expect_all_at(window);
}

/// The holder of the lock that an operation waits for depends on an exposure epoch of another window: its
/// post arrives.
TEST_P(LocalCalls, W113_05_posts_of_other_windows_do_not_wait_for_the_lock) {
  if (waits_for_locks() || size_ < 3) return;
  constexpr int holder = 1;
  Window const locked(GetParam(), bytes);
  Window const posted(GetParam(), bytes);
  long const value = 6;
  if (rank_ == holder) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, last_, 0, locked);
  MPI_Barrier(world);
  if (rank_ == origin) {
    MPI_Win_lock_all(0, locked);
    MPI_Put(&value, 1, MPI_LONG, last_, locked.at(last_, 0), 1, MPI_LONG, locked);
    post(posted, last_);
    EXPECT_EQ(MPI_Win_wait(posted), MPI_SUCCESS);
    EXPECT_EQ(posted.base<long>()[0], value);
    EXPECT_EQ(MPI_Win_unlock_all(locked), MPI_SUCCESS);
  } else if (rank_ == last_) {
    start(posted, {origin});
    MPI_Put(&value, 1, MPI_LONG, origin, posted.at(origin, 0), 1, MPI_LONG, posted);
    EXPECT_EQ(MPI_Win_complete(posted), MPI_SUCCESS);
    send_signal(holder);
  } else if (rank_ == holder) {
    await_signal(last_);
    EXPECT_EQ(MPI_Win_unlock(last_, locked), MPI_SUCCESS);
  }
  MPI_Barrier(world);
  if (rank_ == last_) EXPECT_EQ(locked.base<long>()[0], value);
}

/// The holder of the lock that an operation waits for acquires another lock, which the origin releases.
TEST_P(LocalCalls, W113_05_releases_of_other_locks_do_not_wait_for_the_lock) {
  if (waits_for_locks() || size_ < 3) return;
  constexpr int holder = 1;
  Window const locked(GetParam(), bytes);
  Window const other(GetParam(), bytes);
  long const value = 6;
  if (rank_ == holder) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, last_, 0, locked);
  if (rank_ == origin) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, last_, 0, other);
  if (rank_ == origin) MPI_Win_flush(last_, other);   // the lock is held
  if (rank_ == holder) MPI_Win_flush(last_, locked);  // likewise
  MPI_Barrier(world);
  if (rank_ == origin) {
    MPI_Win_lock_all(0, locked);
    MPI_Put(&value, 1, MPI_LONG, last_, locked.at(last_, 0), 1, MPI_LONG, locked);
    EXPECT_EQ(MPI_Win_unlock(last_, other), MPI_SUCCESS);
    EXPECT_EQ(MPI_Win_unlock_all(locked), MPI_SUCCESS);
  } else if (rank_ == holder) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, last_, 0, other);
    MPI_Put(&value, 1, MPI_LONG, last_, other.at(last_, 0), 1, MPI_LONG, other);
    EXPECT_EQ(MPI_Win_unlock(last_, other), MPI_SUCCESS);
    EXPECT_EQ(MPI_Win_unlock(last_, locked), MPI_SUCCESS);
  }
  MPI_Barrier(world);
  if (rank_ == last_) {
    EXPECT_EQ(locked.base<long>()[0], value);
    EXPECT_EQ(other.base<long>()[0], value);
  }
}

/// An epoch in which all operations were rejected must still end.
TEST_P(LocalCalls, W113_05_epoch_of_rejected_calls_ends) {
  if (waits_for_locks() || GetParam() == Flavour::dynamic) return;
  Window const window(GetParam(), bytes);
  while_locked(window, [&] {
    long const value = 1;
    MPI_Win_lock_all(0, window);
    EXPECT_EQ(class_of(MPI_Put(&value, 1, MPI_LONG, last_, bytes, 1, MPI_LONG, window)), MPI_ERR_RMA_RANGE);
    send_signal(last_);
    EXPECT_EQ(MPI_Win_unlock_all(window), MPI_SUCCESS);
  });
  if (rank_ == last_) AllKinds::expect_nothing_at(window);
}

}  // namespace
}  // namespace mpixrma::test
