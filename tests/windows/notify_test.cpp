/// Notified operations on windows.
#include <numeric>
#include <vector>

#include "tests/windows/notify_support.hpp"

namespace mpixrma::test {
namespace {

class Notification : public NotificationTest {};
MPIX_ON_EACH_FLAVOUR(Notification);

TEST_P(Notification, W126_06_follows_the_arrival_of_data) {
  Window const window(GetParam(), 65536);
  set_counters(window, 3);
  std::vector<long> values(4096);
  std::iota(values.begin(), values.end(), 1000 * rank_);
  MPI_Win_lock_all(0, window);
  for (int round = 1; round <= 20; ++round) {
    for (long& value : values) value += round;
    EXPECT_EQ(
        MPIX_Put_notify(values.data(), 4096, MPI_LONG, next_, window.at(next_, 0), 4096, MPI_LONG, 1, window),
        MPI_SUCCESS);
    wait_for(window, 1, round);
    long const added = round * (round + 1) / 2;
    EXPECT_EQ(window.base<long>()[0], 1000 * previous_ + added);
    EXPECT_EQ(window.base<long>()[4095], 1000 * previous_ + 4095 + added);
    MPI_Win_flush(next_, window);
    MPI_Barrier(world);
  }
  MPI_Win_unlock_all(window);
  EXPECT_EQ(counted(window, 0), 0);
  EXPECT_EQ(counted(window, 1), 20);
  EXPECT_EQ(counted(window, 2), 0);
}

TEST_P(Notification, W126_08_counts_operations_of_every_kind) {
  Window const window(GetParam(), 4096);
  set_counters(window, 1);
  double const half = 0.5;
  double read = -1;
  double before = -1;
  MPI_Aint const at = window.at(next_, 8);
  MPI_Win_lock_all(0, window);
  EXPECT_EQ(MPIX_Accumulate_notify(&half, 1, MPI_DOUBLE, next_, at, 1, MPI_DOUBLE, MPI_SUM, 0, window),
            MPI_SUCCESS);
  EXPECT_EQ(MPIX_Get_accumulate_notify(&half, 1, MPI_DOUBLE, &before, 1, MPI_DOUBLE, next_, at, 1, MPI_DOUBLE,
                                       MPI_SUM, 0, window),
            MPI_SUCCESS);
  MPI_Win_flush(next_, window);
  EXPECT_EQ(before, 0.5);
  EXPECT_EQ(MPIX_Get_notify(&read, 1, MPI_DOUBLE, next_, at, 1, MPI_DOUBLE, 0, window), MPI_SUCCESS);
  MPI_Win_flush(next_, window);
  EXPECT_EQ(read, 1.0);
  EXPECT_EQ(MPIX_Put_notify(nullptr, 0, MPI_DOUBLE, next_, at, 0, MPI_DOUBLE, 0, window), MPI_SUCCESS);
  MPI_Request requests[4];
  double const seven = 7;
  EXPECT_EQ(MPIX_Rput_notify(&seven, 1, MPI_DOUBLE, next_, window.at(next_, 16), 1, MPI_DOUBLE, 0, window,
                             &requests[0]),
            MPI_SUCCESS);
  EXPECT_EQ(MPIX_Rget_notify(&read, 1, MPI_DOUBLE, next_, at, 1, MPI_DOUBLE, 0, window, &requests[1]),
            MPI_SUCCESS);
  EXPECT_EQ(MPIX_Raccumulate_notify(&half, 1, MPI_DOUBLE, next_, window.at(next_, 24), 1, MPI_DOUBLE, MPI_SUM,
                                    0, window, &requests[2]),
            MPI_SUCCESS);
  EXPECT_EQ(
      MPIX_Rget_accumulate_notify(&half, 1, MPI_DOUBLE, &before, 1, MPI_DOUBLE, next_, window.at(next_, 32),
                                  1, MPI_DOUBLE, MPI_REPLACE, 0, window, &requests[3]),
      MPI_SUCCESS);
  EXPECT_EQ(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(before, 0.0);
  MPI_Win_unlock_all(window);
  wait_for(window, 0, 8);
  EXPECT_EQ(window.base<double>()[1], 1.0);
  EXPECT_EQ(window.base<double>()[2], 7.0);
  EXPECT_EQ(window.base<double>()[3], 0.5);
  EXPECT_EQ(window.base<double>()[4], 0.5);
}

TEST_P(Notification, W126_17_loses_no_increment_of_many_origins) {
  constexpr int rounds = 100;
  Window const window(GetParam(), 4096);
  set_counters(window, rank_ == 0 ? 2 : 0);
  long const one = 1;
  MPI_Win_lock_all(0, window);
  for (int i = 0; i < rounds; ++i)
    MPIX_Accumulate_notify(&one, 1, MPI_LONG, 0, window.at(0, 0), 1, MPI_LONG, MPI_SUM, 1, window);
  MPI_Win_unlock_all(window);
  if (rank_ != 0) return;
  wait_for(window, 1, MPI_Count{rounds} * size_);
  EXPECT_EQ(window.base<long>()[0], long{rounds} * size_);
}

/// The failure of another operation prevents no notified operation: the next completion reports it.
TEST_F(WindowTest, W126_28_failures_of_other_operations_prevent_no_notification) {
  Window const window(Flavour::dynamic, 64);
  ASSERT_EQ(MPIX_Win_set_num_notify(window, MPI_INFO_NULL, 2), MPI_SUCCESS);
  long const value = 7;
  MPI_Win_lock_all(0, window);
  for (int index = 0; index < 2; ++index) {
    int const rejected = MPI_Put(&value, 1, MPI_LONG, next_, 0x10, 1, MPI_LONG, window);
    int const count = index == 0 ? 1 : 0;
    EXPECT_EQ(
        MPIX_Put_notify(&value, count, MPI_LONG, next_, window.at(next_, 0), count, MPI_LONG, index, window),
        MPI_SUCCESS);
    int const flushed = MPI_Win_flush(next_, window);
    EXPECT_EQ(class_of(rejected != MPI_SUCCESS ? rejected : flushed), MPI_ERR_RMA_RANGE);
    EXPECT_EQ(MPI_Win_flush(next_, window), MPI_SUCCESS);
  }
  MPI_Win_unlock_all(window);
  MPI_Barrier(world);
  EXPECT_EQ(window.base<long>()[0], 7);
  for (int index = 0; index < 2; ++index) {
    MPI_Count counted = -1;
    EXPECT_EQ(MPIX_Win_get_notify_value(window, index, &counted), MPI_SUCCESS);
    EXPECT_EQ(counted, 1) << "counter " << index;
  }
}

TEST_F(WindowTest, W126_28_request_of_a_notified_operation_reports_that_operation) {
  Window const window(Flavour::dynamic, 64);
  ASSERT_EQ(MPIX_Win_set_num_notify(window, MPI_INFO_NULL, 1), MPI_SUCCESS);
  long const value = 7;
  MPI_Win_lock_all(0, window);
  int const rejected = MPI_Put(&value, 1, MPI_LONG, next_, 0x10, 1, MPI_LONG, window);
  MPI_Request request = MPI_REQUEST_NULL;
  ASSERT_EQ(
      MPIX_Rput_notify(&value, 1, MPI_LONG, next_, window.at(next_, 0), 1, MPI_LONG, 0, window, &request),
      MPI_SUCCESS);
  EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  int const flushed = MPI_Win_flush(next_, window);
  EXPECT_EQ(class_of(rejected != MPI_SUCCESS ? rejected : flushed), MPI_ERR_RMA_RANGE);
  MPI_Win_unlock_all(window);
  MPI_Barrier(world);
  EXPECT_EQ(window.base<long>()[0], 7);
  MPI_Count counted = -1;
  EXPECT_EQ(MPIX_Win_get_notify_value(window, 0, &counted), MPI_SUCCESS);
  EXPECT_EQ(counted, 1);
}

/// Both sides of an accumulate must have elements of one type, and it must do something.
TEST_F(WindowTest, NotifiedAccumulatesCompareTypes) {
  Window const window(Flavour::allocate, 64);
  ASSERT_EQ(MPIX_Win_set_num_notify(window, MPI_INFO_NULL, 1), MPI_SUCCESS);
  int const value = 1;
  MPI_Win_lock_all(0, window);
  auto const accumulate = [&](MPI_Datatype target_type, MPI_Op op) {
    return class_of(MPIX_Accumulate_notify(&value, 1, MPI_INT, next_, 0, 1, target_type, op, 0, window));
  };
  EXPECT_EQ(accumulate(MPI_FLOAT, MPI_SUM), MPI_ERR_TYPE);
  EXPECT_EQ(accumulate(MPI_INT, MPI_NO_OP), MPI_ERR_OP);
  EXPECT_EQ(accumulate(MPI_INT, MPI_SUM), MPI_SUCCESS);
  MPI_Win_unlock_all(window);
  MPI_Barrier(world);
  MPI_Count counted = -1;
  EXPECT_EQ(MPIX_Win_get_notify_value(window, 0, &counted), MPI_SUCCESS);
  EXPECT_EQ(counted, 1);
}

}  // namespace
}  // namespace mpixrma::test
