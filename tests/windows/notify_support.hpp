/// Windows with notification counters.
#pragma once

#include "include/mpix_rma.h"
#include "tests/windows/support.hpp"

namespace mpixrma::test {

/// Returns the error class of missing counters.
inline int no_such_counter() {
  int error_class = MPI_SUCCESS;
  EXPECT_EQ(MPIX_RMA_Error_class(MPIX_RMA_ERR_NOTIFICATION, &error_class), MPI_SUCCESS);
  EXPECT_GT(error_class, MPI_ERR_LASTCODE);
  return error_class;
}

class NotificationTest : public FlavourTest {
 protected:
  static void set_counters(Window const& window, int num) {
    ASSERT_EQ(MPIX_Win_set_num_notify(window, MPI_INFO_NULL, num), MPI_SUCCESS);
  }
  static MPI_Count counted(Window const& window, int index) {
    MPI_Count value = -1;
    EXPECT_EQ(MPIX_Win_get_notify_value(window, index, &value), MPI_SUCCESS);
    return value;
  }
  static int counters_of(Window const& window, int rank) {
    int num = -1;
    EXPECT_EQ(MPIX_Win_get_num_notify(window, rank, &num), MPI_SUCCESS);
    return num;
  }
  /// Waits until a counter has reached the value.
  static void wait_for(Window const& window, int index, MPI_Count value) {
    MPI_Request request = MPI_REQUEST_NULL;
    ASSERT_EQ(MPIX_Win_wait_notify_value(window, index, value, &request), MPI_SUCCESS);
    ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(request, MPI_REQUEST_NULL);
    EXPECT_GE(counted(window, index), value);
  }
  /// Makes a notified put without data.
  static int notify(Window const& window, int rank, int index) {
    return MPIX_Put_notify(nullptr, 0, MPI_LONG, rank, window.at(rank, 0), 0, MPI_LONG, index, window);
  }
};

}  // namespace mpixrma::test
