/// MPI_Win_lock that returns when it has requested the lock: communication calls do not wait for the lock
/// either.
#include <algorithm>
#include <numeric>
#include <vector>

#include "tests/windows/queued_support.hpp"

namespace mpixrma::test {
namespace {

/// MPI_Win_lock that may return when it has requested the lock.
class RequestedLock : public LocalCalls {
 protected:
  /// Calls `access` while another process holds the lock of the last rank in `window`, and
  /// MPI_Win_lock with `type` has returned. `access` must then send the signal that ends the other lock.
  template <typename Access>
  void behind_lock(Window const& window, int type, Access access) {
    while_locked(window, [&] {
      EXPECT_EQ(MPI_Win_lock(type, last_, 0, window), MPI_SUCCESS);
      access();
    });
  }
};
MPIX_ON_EACH_FLAVOUR(RequestedLock);

TEST_P(RequestedLock, W113_05_operations_do_not_wait_in_the_call) {
  if (lock_returns_with_lock()) return;
  for (int const type : {MPI_LOCK_SHARED, MPI_LOCK_EXCLUSIVE}) {
    Window const window(GetParam(), bytes);
    behind_lock(window, type, [&] {
      AllKinds kinds;
      std::vector<long> got(large, -1);
      MPI_Request request = MPI_REQUEST_NULL;
      kinds.issue(window, last_);
      MPI_Rget(got.data(), large, MPI_LONG, last_, window.at(last_, 8 * large_at), large, MPI_LONG, window,
               &request);
      send_signal(last_);
      EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
      for (int i = 0; i < large; ++i) ASSERT_EQ(got[static_cast<std::size_t>(i)], 1000L + i);
      EXPECT_EQ(MPI_Win_unlock(last_, window), MPI_SUCCESS);
      kinds.expect_results();
    });
    if (rank_ == last_) AllKinds::expect_all_at(window);
  }
}

/// More small operations than may be in flight.
TEST_P(RequestedLock, W113_05_operations_beyond_the_credit_do_not_wait_in_the_call) {
  if (lock_returns_with_lock()) return;
  constexpr int count = 5000;
  Window const window(GetParam(), bytes);
  std::vector<long> values(count);
  std::vector<long> got(count, -1);
  std::iota(values.begin(), values.end(), 1L);
  behind_lock(window, MPI_LOCK_SHARED, [&] {
    for (int i = 0; i < count; ++i) {
      auto const index = static_cast<std::size_t>(i);
      MPI_Put(&values[index], 1, MPI_LONG, last_, window.at(last_, 8 * i), 1, MPI_LONG, window);
      MPI_Get(&got[index], 1, MPI_LONG, last_, window.at(last_, 8 * i), 1, MPI_LONG, window);
    }
    send_signal(last_);
    EXPECT_EQ(MPI_Win_unlock(last_, window), MPI_SUCCESS);
  });
  if (rank_ == origin) EXPECT_EQ(got, values);
  if (rank_ == last_) EXPECT_TRUE(std::equal(values.begin(), values.end(), window.base<long>()));
}

/// The messages of all windows to a process are one stream.
TEST_P(RequestedLock, W113_05_operations_of_another_window_do_not_wait_in_the_call) {
  if (lock_returns_with_lock()) return;
  Window const locked(GetParam(), bytes);
  Window const window(GetParam(), bytes);
  AllKinds kinds;
  EXPECT_EQ(MPI_Win_fence(0, window), MPI_SUCCESS);
  behind_lock(locked, MPI_LOCK_EXCLUSIVE, [&] {
    kinds.issue(window, last_);
    send_signal(last_);
    EXPECT_EQ(MPI_Win_unlock(last_, locked), MPI_SUCCESS);
  });
  EXPECT_EQ(MPI_Win_fence(MPI_MODE_NOSUCCEED, window), MPI_SUCCESS);
  if (rank_ == origin) kinds.expect_results();
  if (rank_ == last_) AllKinds::expect_all_at(window);
}

}  // namespace
}  // namespace mpixrma::test
