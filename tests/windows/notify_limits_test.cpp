/// The limits of notification counters, which are attributes of windows.
#include <climits>
#include <cstdint>

#include "tests/windows/notify_support.hpp"

namespace mpixrma::test {
namespace {

class CounterLimits : public NotificationTest {};
MPIX_ON_EACH_FLAVOUR(CounterLimits);

/// Returns an attribute that the window has.
template <typename Value>
Value attribute(MPI_Win window, int key) {
  Value* value = nullptr;
  int found = 0;
  EXPECT_EQ(MPI_Win_get_attr(window, key, &value, &found), MPI_SUCCESS);
  EXPECT_EQ(found, 1);
  return found != 0 && value != nullptr ? *value : Value{-1};
}

TEST_P(CounterLimits, W126_22_keys_and_attributes_belong_to_the_library) {
  Window const window(GetParam(), 64);
  MPI_Errhandler before = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(world, &before);
  MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
  for (int const key : {MPIX_WIN_NOTIFICATION_NUM_UB, MPIX_WIN_SIZES}) {
    int freed = key;
    int value = 3;
    EXPECT_EQ(class_of(MPI_Win_free_keyval(&freed)), MPI_ERR_KEYVAL);
    EXPECT_EQ(freed, key);
    EXPECT_EQ(class_of(MPI_Win_set_attr(window, key, &value)), MPI_ERR_KEYVAL);
    EXPECT_EQ(class_of(MPI_Win_delete_attr(window, key)), MPI_ERR_KEYVAL);
  }
  MPI_Comm_set_errhandler(world, before);
  MPI_Errhandler_free(&before);
  EXPECT_EQ(attribute<int>(window, MPIX_WIN_NOTIFICATION_NUM_UB), 1 << 27);
  int own = MPI_KEYVAL_INVALID;
  int value = 3;
  MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &own, nullptr);
  EXPECT_EQ(MPI_Win_set_attr(window, own, &value), MPI_SUCCESS);
  EXPECT_EQ(attribute<int>(window, own), 3);
  EXPECT_EQ(MPI_Win_delete_attr(window, own), MPI_SUCCESS);
  EXPECT_EQ(MPI_Win_free_keyval(&own), MPI_SUCCESS);
}

TEST_P(CounterLimits, W126_22_limits_are_window_attributes_and_info_key_lowers_maximum) {
  Window const before(GetParam(), 64);  // at the first run, before the library was asked for the keys
  Info const asserted{{"mpi_assert_max_num_notify", "8"}};
  Info const nothing{{"mpi_assert_max_num_notify", "0"}};
  Window const limited(GetParam(), 64, 1, asserted.get());
  Window const unlimited(GetParam(), 64, 1, nothing.get());
  int const most = MPIX_WIN_NOTIFICATION_NUM_UB;
  for (MPI_Win const window : {static_cast<MPI_Win>(before), static_cast<MPI_Win>(unlimited)}) {
    EXPECT_EQ(attribute<int>(window, most), 1 << 27);
    EXPECT_GT(attribute<int>(window, MPIX_WIN_NOTIFICATION_NUM_SB), 0);
    EXPECT_EQ(attribute<MPI_Count>(window, MPIX_WIN_NOTIFICATION_VALUE_UB), INT64_MAX);
  }
  EXPECT_EQ(attribute<int>(limited, most), 8);
  EXPECT_EQ(attribute<int>(limited, MPIX_WIN_NOTIFICATION_NUM_SB), 8);
  EXPECT_EQ(value_of(limited, "mpi_assert_max_num_notify"), "8");
  EXPECT_EQ(value_of(before, "mpi_assert_max_num_notify"), "");
  set_counters(limited, 8);
  int const too_many = MPIX_Win_set_num_notify(limited, MPI_INFO_NULL, 9);
  EXPECT_EQ(class_of(too_many), MPI_ERR_ARG);
  EXPECT_NE(text_of(too_many).find("more than the window's mpi_assert_max_num_notify"), std::string::npos);
  int const beyond = MPIX_Win_set_num_notify(before, MPI_INFO_NULL, INT_MAX);
  EXPECT_EQ(class_of(beyond), MPI_ERR_ARG);
  EXPECT_NE(text_of(beyond).find("more than the 134217728 counters that a process can have"),
            std::string::npos);
  int const fewer = MPIX_Win_set_num_notify(limited, MPI_INFO_NULL, 7);
  EXPECT_EQ(class_of(fewer), MPI_ERR_ARG);
  EXPECT_NE(text_of(fewer).find("fewer than the present 8 counters"), std::string::npos);
  int const negative = MPIX_Win_set_num_notify(limited, MPI_INFO_NULL, -2);
  EXPECT_NE(text_of(negative).find("num -2 is negative"), std::string::npos);
  EXPECT_EQ(counters_of(limited, next_), 8);
  set_counters(before, attribute<int>(before, MPIX_WIN_NOTIFICATION_NUM_SB));
  MPI_Win_lock_all(0, limited);
  EXPECT_EQ(notify(limited, next_, 7), MPI_SUCCESS);
  EXPECT_EQ(class_of(notify(limited, next_, 8)), no_such_counter());
  MPI_Win_unlock_all(limited);
  MPI_Barrier(world);
  EXPECT_EQ(counted(limited, 7), 1);
}

}  // namespace
}  // namespace mpixrma::test
