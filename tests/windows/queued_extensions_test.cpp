/// Calls beyond MPI's behind operations that wait for a lock.
#include <algorithm>
#include <string>
#include <vector>

#include "tests/windows/notify_support.hpp"
#include "tests/windows/queued_support.hpp"

namespace mpixrma::test {
namespace {

constexpr int longs = 1 << 16;  // more than a message holds
constexpr MPI_Aint bytes = longs * static_cast<MPI_Aint>(sizeof(long));

class QueuedExtensions : public NotificationTest {
 protected:
  /// In a window of shared memory, MPI_Win_lock_all itself acquires the locks.
  bool waits_for_locks() const { return size_ == 1 || GetParam() == Flavour::shared; }
  /// `access()` runs at rank 0 while the last rank holds its own lock, and calls send_signal(last_).
  template <typename Access>
  void while_locked(Window const& window, Access access) {
    if (rank_ == last_) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, last_, 0, window);
    MPI_Barrier(world);
    if (rank_ == 0) access();
    if (rank_ == last_) {
      await_signal(0);
      EXPECT_EQ(std::count(window.base<long>(), window.base<long>() + longs, 0L), longs);
      MPI_Win_unlock(last_, window);
    }
  }

  /// Notified operations between `lock` and `unlock`, issued before the lock is granted.
  template <typename Lock, typename Unlock>
  void notify_while_locked(Lock lock, Unlock unlock) {
    Window const window(GetParam(), bytes);
    set_counters(window, 2);
    std::vector<long> values(longs, 3);
    std::vector<long> got(longs, -1);
    while_locked(window, [&] {
      MPI_Request requests[3];
      MPI_Aint const place = window.at(last_, 0);
      lock(window);
      EXPECT_EQ(MPIX_Rput_notify(values.data(), longs, MPI_LONG, last_, place, longs, MPI_LONG, 0, window,
                                 &requests[0]),
                MPI_SUCCESS);
      EXPECT_EQ(MPIX_Rget_notify(got.data(), longs, MPI_LONG, last_, place, longs, MPI_LONG, 0, window,
                                 &requests[1]),
                MPI_SUCCESS);
      EXPECT_EQ(MPIX_Rput_notify(nullptr, 0, MPI_LONG, last_, place, 0, MPI_LONG, 1, window, &requests[2]),
                MPI_SUCCESS);
      send_signal(last_);
      EXPECT_EQ(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
      EXPECT_EQ(std::count(got.begin(), got.end(), 3L), longs);
      EXPECT_EQ(unlock(window), MPI_SUCCESS);
    });
    if (rank_ == last_) {
      wait_for(window, 0, 2);
      wait_for(window, 1, 1);
      EXPECT_EQ(std::count(window.base<long>(), window.base<long>() + longs, 3L), longs);
    }
  }

  int last_ = size_ - 1;
};
MPIX_ON_EACH_FLAVOUR(QueuedExtensions);

TEST_P(QueuedExtensions, E_10_request_covers_operations_that_wait_for_a_lock) {
  if (waits_for_locks()) return;
  using Start = int (*)(int, MPI_Win, MPI_Request*);
  for (Start const flush : {
           Start{[](int rank, MPI_Win win, MPI_Request*request) {
             return MPIX_Win_iflush(rank, win, request);
           }},
           Start{[](int, MPI_Win win, MPI_Request*request) { return MPIX_Win_iflush_all(win, request); }},
       }) {
    Window const window(GetParam(), bytes);
    std::vector<long> values(longs, 3);
    while_locked(window, [&] {
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Win_lock_all(0, window);
      MPI_Put(values.data(), longs, MPI_LONG, last_, window.at(last_, 0), longs, MPI_LONG, window);
      EXPECT_EQ(flush(last_, window, &request), MPI_SUCCESS);
      int done = 1;
      EXPECT_EQ(MPI_Test(&request, &done, MPI_STATUS_IGNORE), MPI_SUCCESS);
      EXPECT_EQ(done, 0);
      send_signal(last_);
      EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
      send_signal(last_);
    });
    if (rank_ == last_) {
      await_signal(0);
      MPI_Win_lock_all(0, window);
      EXPECT_EQ(std::count(window.base<long>(), window.base<long>() + longs, 3L), longs);
      MPI_Win_unlock_all(window);
    }
    if (rank_ == 0) MPI_Win_unlock_all(window);
  }
}

TEST_P(QueuedExtensions, E_01_order_keeps_its_place_in_the_queue) {
  if (waits_for_locks()) return;
  Window const window(GetParam(), bytes);
  set_counters(window, 1);
  std::vector<long> values(longs, 3);
  while_locked(window, [&] {
    MPI_Win_lock_all(0, window);
    MPI_Put(values.data(), longs - 1, MPI_LONG, last_, window.at(last_, 0), longs - 1, MPI_LONG, window);
    EXPECT_EQ(MPIX_Win_order(last_, window), MPI_SUCCESS);
    EXPECT_EQ(MPIX_Put_notify(values.data(), 1, MPI_LONG, last_, window.at(last_, 8 * (longs - 1)), 1,
                              MPI_LONG, 0, window),
              MPI_SUCCESS);
    send_signal(last_);
    EXPECT_EQ(MPI_Win_unlock_all(window), MPI_SUCCESS);
  });
  if (rank_ == last_) {
    wait_for(window, 0, 1);
    EXPECT_EQ(std::count(window.base<long>(), window.base<long>() + longs, 3L), longs);
  }
}

TEST_P(QueuedExtensions, W126_11_missing_counters_fail_at_the_completion) {
  if (waits_for_locks()) return;
  Window const window(GetParam(), bytes);
  set_counters(window, 1);
  long const value = 3;
  while_locked(window, [&] {
    MPI_Aint const place = window.at(last_, 0);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Win_lock_all(0, window);
    EXPECT_EQ(MPIX_Put_notify(&value, 1, MPI_LONG, last_, place, 1, MPI_LONG, 7, window), MPI_SUCCESS);
    EXPECT_EQ(MPIX_Rput_notify(&value, 1, MPI_LONG, last_, place, 1, MPI_LONG, 8, window, &request),
              MPI_SUCCESS);
    send_signal(last_);
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    EXPECT_EQ(class_of(MPI_Wait(&request, MPI_STATUS_IGNORE)), no_such_counter());
    MPI_Comm_set_errhandler(world, MPI_ERRORS_ARE_FATAL);
    int const code = MPI_Win_flush(last_, window);
    EXPECT_EQ(class_of(code), no_such_counter());
    EXPECT_NE(text_of(code).find("no notification counter 7"), std::string::npos) << text_of(code);
    EXPECT_EQ(MPI_Win_unlock_all(window), MPI_SUCCESS);
  });
  MPI_Barrier(world);
  EXPECT_EQ(std::count(window.base<long>(), window.base<long>() + longs, 0L), longs);
}

TEST_P(QueuedExtensions, E_17_iflush_reports_missing_counters) {
  if (waits_for_locks()) return;
  Window const window(GetParam(), bytes);
  set_counters(window, 1);
  long const value = 3;
  while_locked(window, [&] {
    MPI_Request requests[3];
    MPI_Win_lock_all(0, window);
    EXPECT_EQ(MPIX_Put_notify(&value, 1, MPI_LONG, last_, window.at(last_, 0), 1, MPI_LONG, 7, window),
              MPI_SUCCESS);
    EXPECT_EQ(MPIX_Win_iflush(last_, window, &requests[0]), MPI_SUCCESS);
    EXPECT_EQ(MPIX_Put_notify(&value, 1, MPI_LONG, last_, window.at(last_, 0), 1, MPI_LONG, 8, window),
              MPI_SUCCESS);
    EXPECT_EQ(MPIX_Win_iflush_all(window, &requests[1]), MPI_SUCCESS);
    EXPECT_EQ(MPIX_Win_iflush(last_, window, &requests[2]), MPI_SUCCESS);
    send_signal(last_);
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    for (int i = 0; i < 2; ++i) {
      int const code = MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
      EXPECT_EQ(class_of(code), no_such_counter());
      std::string const reason = "no notification counter " + std::to_string(7 + i);
      EXPECT_NE(text_of(code).find(reason), std::string::npos) << text_of(code);
    }
    EXPECT_EQ(MPI_Wait(&requests[2], MPI_STATUS_IGNORE), MPI_SUCCESS);
    MPI_Comm_set_errhandler(world, MPI_ERRORS_ARE_FATAL);
    EXPECT_EQ(MPI_Win_unlock_all(window), MPI_SUCCESS);
  });
  MPI_Barrier(world);
}

TEST_P(QueuedExtensions, E_17_freed_request_leaves_a_missing_counter_to_the_next_flush) {
  if (waits_for_locks()) return;
  Window const window(GetParam(), bytes);
  set_counters(window, 1);
  long const value = 3;
  while_locked(window, [&] {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Win_lock_all(0, window);
    EXPECT_EQ(MPIX_Put_notify(&value, 1, MPI_LONG, last_, window.at(last_, 0), 1, MPI_LONG, 7, window),
              MPI_SUCCESS);
    EXPECT_EQ(MPIX_Win_iflush(last_, window, &request), MPI_SUCCESS);
    MPI_Request_free(&request);
    send_signal(last_);
    EXPECT_NE(MPI_Win_flush(last_, window), MPI_SUCCESS);
    EXPECT_EQ(MPI_Win_unlock_all(window), MPI_SUCCESS);
  });
  MPI_Barrier(world);
}

TEST_P(QueuedExtensions, W126_06_notified_operations_wait_for_a_lock) {
  if (waits_for_locks()) return;
  notify_while_locked([](MPI_Win win) { MPI_Win_lock_all(0, win); },
                      [](MPI_Win win) { return MPI_Win_unlock_all(win); });
}

TEST_P(QueuedExtensions, W126_06_notified_operations_wait_for_a_requested_lock) {
  if (lock_returns_with_lock()) return;
  notify_while_locked([&](MPI_Win win) { MPI_Win_lock(MPI_LOCK_SHARED, last_, 0, win); },
                      [&](MPI_Win win) { return MPI_Win_unlock(last_, win); });
}

}  // namespace
}  // namespace mpixrma::test
