/// Notification counters of windows: their number, their values, and processes that wait for them.
#include <climits>
#include <cstdint>

#include "tests/windows/notify_support.hpp"

namespace mpixrma::test {
namespace {

class Counters : public NotificationTest {
 protected:
  static bool is_complete(MPI_Request& request) {
    int flag = 0;
    EXPECT_EQ(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
    return flag != 0;
  }
};
MPIX_ON_EACH_FLAVOUR(Counters);

TEST_P(Counters, W126_01_number_of_counters_is_per_process) {
  Window const window(GetParam(), 64);
  EXPECT_EQ(counters_of(window, rank_), 0);
  EXPECT_EQ(counters_of(window, next_), 0);
  set_counters(window, rank_);
  for (int index = 0; index < rank_; ++index) EXPECT_EQ(counted(window, index), 0);
  MPI_Count value = -1;
  for (int const index : {rank_, INT_MAX, -1, INT_MIN}) {
    EXPECT_EQ(class_of(MPIX_Win_get_notify_value(window, index, &value)), no_such_counter());
    EXPECT_EQ(class_of(MPIX_Win_reset_notify_value(window, index, &value)), no_such_counter());
  }
  EXPECT_EQ(value, -1);
}

TEST_P(Counters, W126_02_set_num_creates_zeroed_counters) {
  Window const window(GetParam(), 64);
  for (int const num : {0, 1, 3, 3, 5, 1000}) {
    set_counters(window, num);
    EXPECT_EQ(counters_of(window, next_), num);
    for (int index = 0; index < num; ++index) EXPECT_EQ(counted(window, index), 0);
    MPI_Barrier(world);
    MPI_Win_lock_all(0, window);
    EXPECT_EQ(class_of(notify(window, next_, num)), no_such_counter());
    if (num > 0) EXPECT_EQ(notify(window, next_, num - 1), MPI_SUCCESS);
    MPI_Win_unlock_all(window);
    MPI_Barrier(world);
    if (num > 0) EXPECT_EQ(counted(window, num - 1), 1);
  }
}

/// A process that requests fewer counters keeps its counters and their values; the others get new counters.
TEST_P(Counters, W126_02_set_num_rejects_a_smaller_number) {
  Window const window(GetParam(), 64);
  set_counters(window, 4);
  MPI_Win_lock_all(0, window);
  EXPECT_EQ(notify(window, next_, 3), MPI_SUCCESS);
  MPI_Win_unlock_all(window);
  MPI_Barrier(world);
  int const wanted = rank_ == 0 ? 3 : 4;
  int const code = MPIX_Win_set_num_notify(window, MPI_INFO_NULL, wanted);
  EXPECT_EQ(class_of(code), rank_ == 0 ? MPI_ERR_ARG : MPI_SUCCESS);
  if (rank_ == 0) {
    EXPECT_NE(text_of(code).find("num 3 is fewer than the present 4 counters"), std::string::npos)
        << text_of(code);
  }
  for (int rank = 0; rank < size_; ++rank) EXPECT_EQ(counters_of(window, rank), 4);
  EXPECT_EQ(counted(window, 3), rank_ == 0 ? 1 : 0);
}

TEST_P(Counters, W126_03_get_num_returns_the_number_of_any_rank) {
  Window const window(GetParam(), 64);
  for (int round = 0; round < 3; ++round) {
    set_counters(window, 10 * round + rank_);
    for (int rank = 0; rank < size_; ++rank) EXPECT_EQ(counters_of(window, rank), 10 * round + rank);
  }
  int num = -1;
  for (int const rank : {-1, size_, MPI_PROC_NULL})
    EXPECT_EQ(class_of(MPIX_Win_get_num_notify(window, rank, &num)), MPI_ERR_RANK);
  EXPECT_EQ(class_of(MPIX_Win_get_num_notify(window, 0, nullptr)), MPI_ERR_ARG);
  EXPECT_EQ(num, -1);
}

/// Other processes of the collective call do not hang, and get their counters.
TEST_P(Counters, W126_04_failed_set_num_keeps_the_counters_of_that_process_only) {
  Window const window(GetParam(), 64);
  set_counters(window, 1);
  MPI_Win_lock(MPI_LOCK_SHARED, next_, 0, window);
  notify(window, next_, 0);
  MPI_Win_unlock(next_, window);
  MPI_Barrier(world);
  MPI_Group self = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_SELF, &self);
  for (int error = 0; error < 3; ++error) {
    if (rank_ != 0) {
      set_counters(window, 4 + error);
    } else if (error == 0) {
      EXPECT_EQ(class_of(MPIX_Win_set_num_notify(window, MPI_INFO_NULL, -1)), MPI_ERR_ARG);
    } else if (error == 1) {
      MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
      EXPECT_EQ(class_of(MPIX_Win_set_num_notify(window, MPI_INFO_NULL, 3)), MPI_ERR_RMA_SYNC);
      MPI_Win_unlock_all(window);
    } else {
      MPI_Win_post(self, 0, window);
      MPI_Win_start(self, 0, window);
      EXPECT_EQ(class_of(MPIX_Win_set_num_notify(window, MPI_INFO_NULL, 3)), MPI_ERR_RMA_SYNC);
      MPI_Win_complete(window);
      MPI_Win_wait(window);
    }
    for (int rank = 0; rank < size_; ++rank) EXPECT_EQ(counters_of(window, rank), rank == 0 ? 1 : 4 + error);
    EXPECT_EQ(counted(window, 0), rank_ == 0 ? 1 : 0);
    MPI_Barrier(world);
  }
  MPI_Group_free(&self);
  MPI_Win_lock_all(0, window);
  notify(window, 0, 0);
  MPI_Win_unlock_all(window);
  MPI_Barrier(world);
  EXPECT_EQ(counted(window, 0), rank_ == 0 ? 1 + size_ : 0);
  set_counters(window, 7);
  EXPECT_EQ(counters_of(window, 0), 7);
  EXPECT_EQ(counted(window, 0), 0);
}

TEST_P(Counters, W126_05_info_keys_do_not_change_semantics) {
  Window const window(GetParam(), 64);
  Info const info{{"mpi_assert_same_num_notifications", "true"}, {"anything", "else"}};
  ASSERT_EQ(MPIX_Win_set_num_notify(window, info.get(), 2), MPI_SUCCESS);
  MPI_Win_lock_all(0, window);
  notify(window, next_, 1);
  MPI_Win_unlock_all(window);
  wait_for(window, 1, 1);
}

TEST_P(Counters, W126_12_get_value_needs_no_call_of_other_processes) {
  Window const window(GetParam(), 65536);
  set_counters(window, 1);
  std::vector<long> values(8192, 5 + rank_);
  MPI_Win_lock_all(0, window);
  MPIX_Put_notify(values.data(), 8192, MPI_LONG, next_, window.at(next_, 0), 8192, MPI_LONG, 0, window);
  while (counted(window, 0) == 0) std::this_thread::yield();
  EXPECT_EQ(window.base<long>()[0], 5 + previous_);
  EXPECT_EQ(window.base<long>()[8191], 5 + previous_);
  MPI_Win_unlock_all(window);
}

TEST_P(Counters, W126_13_reset_loses_no_concurrent_increment) {
  constexpr int rounds = 300;
  Window const window(GetParam(), 64);
  set_counters(window, 2);
  MPI_Win_lock_all(0, window);
  MPI_Count total = 0;
  MPI_Count before = 0;
  MPI_Barrier(world);  // increments and resets begin together
  for (int i = 0; i < rounds; ++i) {
    notify(window, 0, 1);
    if (rank_ != 0) continue;
    EXPECT_EQ(MPIX_Win_reset_notify_value(window, 1, &before), MPI_SUCCESS);
    total += before;
  }
  MPI_Win_unlock_all(window);
  MPI_Request all_done = MPI_REQUEST_NULL;
  MPI_Ibarrier(world, &all_done);
  while (!is_complete(all_done)) {
    if (rank_ != 0) continue;
    MPIX_Win_reset_notify_value(window, 1, &before);
    total += before;
  }
  EXPECT_EQ(MPIX_Win_reset_notify_value(window, 1, &before), MPI_SUCCESS);
  EXPECT_EQ(total + before, rank_ == 0 ? MPI_Count{rounds} * size_ : 0);
  EXPECT_EQ(MPIX_Win_reset_notify_value(window, 1, nullptr), MPI_SUCCESS);
  EXPECT_EQ(counted(window, 1), 0);
}

TEST_P(Counters, W126_23_request_completes_at_its_threshold) {
  constexpr int thresholds = 10;
  Window const window(GetParam(), 64);
  set_counters(window, 2);
  std::vector<MPI_Request> requests(thresholds + 2);
  for (int i = 0; i < thresholds + 2; ++i)  // the last of them first
    ASSERT_EQ(
        MPIX_Win_wait_notify_value(window, 1, thresholds + 1 - i, &requests[static_cast<std::size_t>(i)]),
        MPI_SUCCESS);
  EXPECT_TRUE(is_complete(requests.back()));  // zero
  for (int i = 0; i <= thresholds; ++i) EXPECT_FALSE(is_complete(requests[static_cast<std::size_t>(i)]));
  MPI_Barrier(world);
  MPI_Win_lock_all(0, window);
  for (int i = 0; i < thresholds; ++i) notify(window, next_, 1);
  EXPECT_EQ(MPI_Waitall(thresholds, requests.data() + 1, MPI_STATUSES_IGNORE), MPI_SUCCESS);
  EXPECT_FALSE(is_complete(requests[0]));
  MPI_Barrier(world);
  notify(window, next_, 1);
  EXPECT_EQ(MPI_Wait(&requests[0], MPI_STATUS_IGNORE), MPI_SUCCESS);
  wait_for(window, 1, 1);  // reached long ago
  MPI_Win_unlock_all(window);
  EXPECT_EQ(counted(window, 1), thresholds + 1);
}

TEST_P(Counters, W126_31_reset_does_not_affect_requests_whose_threshold_was_reached) {
  Window const window(GetParam(), 64);
  set_counters(window, 1);
  MPI_Win_lock_all(0, window);
  for (int round = 0; round < 4; ++round) {
    MPI_Request reached = MPI_REQUEST_NULL;
    MPI_Request missed = MPI_REQUEST_NULL;
    ASSERT_EQ(MPIX_Win_wait_notify_value(window, 0, 2, &reached), MPI_SUCCESS);
    ASSERT_EQ(MPIX_Win_wait_notify_value(window, 0, 3, &missed), MPI_SUCCESS);
    notify(window, next_, 0);
    notify(window, next_, 0);
    while (counted(window, 0) < 2) std::this_thread::yield();
    MPI_Count before = -1;
    EXPECT_EQ(MPIX_Win_reset_notify_value(window, 0, &before), MPI_SUCCESS);
    EXPECT_EQ(before, 2);
    EXPECT_EQ(MPI_Wait(&reached, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_FALSE(is_complete(missed));
    MPI_Barrier(world);
    for (int i = 0; i < 3; ++i) notify(window, next_, 0);  // the counter begins at zero again
    EXPECT_EQ(MPI_Wait(&missed, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(MPIX_Win_reset_notify_value(window, 0, &before), MPI_SUCCESS);
    EXPECT_EQ(before, 3);
    MPI_Barrier(world);
  }
  MPI_Win_unlock_all(window);
}

TEST_P(Counters, W126_24_invalid_wait_arguments_are_errors) {
  Window const window(GetParam(), 64);
  set_counters(window, 1);
  MPI_Request request = MPI_REQUEST_NULL;
  EXPECT_EQ(class_of(MPIX_Win_wait_notify_value(window, 0, -1, &request)), MPI_ERR_ARG);
  EXPECT_EQ(class_of(MPIX_Win_wait_notify_value(window, 1, 1, &request)), no_such_counter());
  EXPECT_EQ(class_of(MPIX_Win_wait_notify_value(window, -1, 1, &request)), no_such_counter());
  EXPECT_EQ(class_of(MPIX_Win_wait_notify_value(window, 0, 1, nullptr)), MPI_ERR_REQUEST);
  EXPECT_EQ(class_of(MPIX_Win_get_notify_value(window, 0, nullptr)), MPI_ERR_ARG);
  EXPECT_EQ(request, MPI_REQUEST_NULL);
  EXPECT_EQ(counted(window, 0), 0);
}

/// Errors of requests that belong to no window are raised on MPI_COMM_WORLD.
TEST_P(Counters, W126_25_removed_counters_fail_pending_requests) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(world, &handler);
  MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
  int address_class = MPI_SUCCESS;
  MPIX_RMA_Error_class(MPIX_RMA_ERR_ADDRESS, &address_class);
  MPI_Request reached = MPI_REQUEST_NULL;
  MPI_Request missed[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  {
    Window const window(GetParam(), 64);
    set_counters(window, 2);
    ASSERT_EQ(MPIX_Win_wait_notify_value(window, 1, 1, &reached), MPI_SUCCESS);
    ASSERT_EQ(MPIX_Win_wait_notify_value(window, 1, 2, &missed[0]), MPI_SUCCESS);
    MPI_Win_lock_all(0, window);
    notify(window, next_, 1);
    MPI_Win_unlock_all(window);
    set_counters(window, 2);
    ASSERT_EQ(MPIX_Win_wait_notify_value(window, 0, INT64_MAX, &missed[1]), MPI_SUCCESS);
    EXPECT_EQ(class_of(MPI_Wait(&missed[0], MPI_STATUS_IGNORE)), address_class);
    EXPECT_FALSE(is_complete(missed[1]));
  }
  EXPECT_EQ(class_of(MPI_Wait(&missed[1], MPI_STATUS_IGNORE)), address_class);
  EXPECT_EQ(MPI_Wait(&reached, MPI_STATUS_IGNORE), MPI_SUCCESS);
  MPI_Comm_set_errhandler(world, handler);
  MPI_Errhandler_free(&handler);
}

TEST_P(Counters, W126_30_requests_may_be_freed_or_passed_to_waitany) {
  Window const window(GetParam(), 64);
  set_counters(window, 1);
  MPI_Request freed = MPI_REQUEST_NULL;
  MPI_Request several[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  ASSERT_EQ(MPIX_Win_wait_notify_value(window, 0, 1, &freed), MPI_SUCCESS);
  ASSERT_EQ(MPIX_Win_wait_notify_value(window, 0, 2, &several[1]), MPI_SUCCESS);
  EXPECT_EQ(MPI_Request_free(&freed), MPI_SUCCESS);
  MPI_Barrier(world);
  MPI_Win_lock_all(0, window);
  notify(window, next_, 0);
  notify(window, next_, 0);
  int index = -1;
  EXPECT_EQ(MPI_Waitany(3, several, &index, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(index, 1);
  MPI_Win_unlock_all(window);
}

TEST_P(Counters, W126_26_counters_belong_to_one_window) {
  Window const lasting(GetParam(), 64);
  set_counters(lasting, 1);
  for (int round = 1; round <= 20; ++round) {
    Window const window(GetParam(), 64);
    EXPECT_EQ(counters_of(window, next_), 0);
    MPI_Win_lock_all(0, window);
    MPI_Win_lock_all(0, lasting);
    EXPECT_EQ(class_of(notify(window, next_, 0)), no_such_counter());
    MPI_Win_unlock_all(window);
    set_counters(window, 1);
    MPI_Win_lock_all(0, window);
    notify(window, next_, 0);
    notify(window, next_, 0);
    notify(lasting, next_, 0);
    MPI_Win_unlock_all(lasting);
    MPI_Win_unlock_all(window);
    MPI_Barrier(world);
    EXPECT_EQ(counted(window, 0), 2);
    EXPECT_EQ(counted(lasting, 0), round);
  }
}

TEST_F(WindowTest, W126_27_calls_on_the_null_window_are_errors) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(world, &handler);
  MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
  MPI_Win const none = MPI_WIN_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Count value = -1;
  int num = -1;
  long const one = 1;
  EXPECT_EQ(class_of(MPIX_Win_set_num_notify(none, MPI_INFO_NULL, 1)), MPI_ERR_WIN);
  EXPECT_EQ(class_of(MPIX_Win_get_num_notify(none, 0, &num)), MPI_ERR_WIN);
  EXPECT_EQ(class_of(MPIX_Win_get_notify_value(none, 0, &value)), MPI_ERR_WIN);
  EXPECT_EQ(class_of(MPIX_Win_reset_notify_value(none, 0, &value)), MPI_ERR_WIN);
  EXPECT_EQ(class_of(MPIX_Win_wait_notify_value(none, 0, 1, &request)), MPI_ERR_WIN);
  EXPECT_EQ(class_of(MPIX_Put_notify(&one, 1, MPI_LONG, rank_, 0, 1, MPI_LONG, 0, none)), MPI_ERR_WIN);
  EXPECT_EQ(class_of(MPIX_Rput_notify(&one, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, 0, none, &request)),
            MPI_ERR_WIN);
  EXPECT_EQ(request, MPI_REQUEST_NULL);
  MPI_Comm_set_errhandler(world, handler);
  MPI_Errhandler_free(&handler);
}

}  // namespace
}  // namespace mpixrma::test
