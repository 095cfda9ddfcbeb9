/// Epochs: their guarantees, and operations that are rejected outside of them.
#include "tests/mpi/windows/window_fixture.hpp"

namespace mpixrma::test {
namespace {

class WindowEpochs : public EveryFlavor {};
INSTANTIATE_TEST_SUITE_P(Flavors, WindowEpochs, flavors);

MPI_Group all_but_me() {
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group others = MPI_GROUP_NULL;
  int const mine = world_rank();
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_excl(all, 1, &mine, &others);
  MPI_Group_free(&all);
  return others;
}

TEST_P(WindowEpochs, PostStartCompleteWait) {
  TestWindow const window(GetParam(), 64 * sizeof(long));
  MPI_Group others = all_but_me();
  for (long round = 1; round <= 50; ++round) {
    long const value = 1000 * round + world_rank();
    ASSERT_EQ(MPI_Win_post(others, 0, window.window), MPI_SUCCESS);
    ASSERT_EQ(MPI_Win_start(others, 0, window.window), MPI_SUCCESS);
    for (int rank = 0; rank < world_size(); ++rank) {
      // Some targets of an epoch are not used.
      if (rank == world_rank() || (round % 5 == 0 && rank == 0)) continue;
      ASSERT_EQ(
          MPI_Put(&value, 1, MPI_LONG, rank, window.at(rank, 8 * world_rank()), 1, MPI_LONG, window.window),
          MPI_SUCCESS);
    }
    ASSERT_EQ(MPI_Win_complete(window.window), MPI_SUCCESS);
    if (round % 2 == 0) {
      ASSERT_EQ(MPI_Win_wait(window.window), MPI_SUCCESS);
    } else {
      for (int flag = 0; flag == 0;) ASSERT_EQ(MPI_Win_test(window.window, &flag), MPI_SUCCESS);
    }
    for (int rank = 0; rank < world_size(); ++rank) {
      if (rank == world_rank()) continue;
      long const last = round % 5 == 0 && world_rank() == 0 ? round - 1 : round;
      ASSERT_EQ(window.as<long>()[rank], 1000 * last + rank);
    }
  }
  MPI_Group_free(&others);
}

TEST_P(WindowEpochs, ExclusiveLocksExcludeOthers) {
  TestWindow const window(GetParam(), 64);
  constexpr int rounds = 100;
  for (int i = 0; i < rounds; ++i) {
    long value = -1;
    ASSERT_EQ(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window.window), MPI_SUCCESS);
    MPI_Get(&value, 1, MPI_LONG, 0, window.at(0), 1, MPI_LONG, window.window);
    MPI_Win_flush(0, window.window);
    ++value;
    MPI_Put(&value, 1, MPI_LONG, 0, window.at(0), 1, MPI_LONG, window.window);
    ASSERT_EQ(MPI_Win_unlock(0, window.window), MPI_SUCCESS);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  ASSERT_EQ(MPI_Win_lock(MPI_LOCK_SHARED, world_rank(), 0, window.window), MPI_SUCCESS);
  if (world_rank() == 0) {
    EXPECT_EQ(window.as<long>()[0], long{rounds} * world_size());
  }
  ASSERT_EQ(MPI_Win_unlock(world_rank(), window.window), MPI_SUCCESS);
}

TEST_P(WindowEpochs, RefusesCallsOutsideOfEpochs) {
  TestWindow const window(GetParam(), 64);
  MPI_Win const win = window.window;
  int const next = (world_rank() + 1) % world_size();
  int value = 0;
  auto const put = [&](MPI_Aint units) {
    return class_of(MPI_Put(&value, 1, MPI_INT, next, window.at(next, units), 1, MPI_INT, win));
  };
  MPI_Group others = all_but_me();
  EXPECT_EQ(put(0), MPI_ERR_RMA_SYNC);
  EXPECT_EQ(class_of(MPI_Win_unlock(next, win)), MPI_ERR_RMA_SYNC);
  EXPECT_EQ(class_of(MPI_Win_unlock_all(win)), MPI_ERR_RMA_SYNC);
  EXPECT_EQ(class_of(MPI_Win_flush(next, win)), MPI_ERR_RMA_SYNC);
  EXPECT_EQ(class_of(MPI_Win_flush_all(win)), MPI_ERR_RMA_SYNC);
  EXPECT_EQ(class_of(MPI_Win_complete(win)), MPI_ERR_RMA_SYNC);
  EXPECT_EQ(class_of(MPI_Win_wait(win)), MPI_ERR_RMA_SYNC);
  ASSERT_EQ(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win), MPI_SUCCESS);
  EXPECT_EQ(class_of(MPI_Win_fence(0, win)), MPI_ERR_RMA_SYNC);
  EXPECT_EQ(class_of(MPI_Win_lock_all(0, win)), MPI_ERR_RMA_SYNC);
  EXPECT_EQ(class_of(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win)), MPI_ERR_RMA_SYNC);
  EXPECT_EQ(class_of(MPI_Win_start(others, 0, win)), MPI_ERR_RMA_SYNC);
  EXPECT_EQ(class_of(MPI_Win_unlock_all(win)), MPI_ERR_RMA_SYNC);
  if (GetParam() != MPI_WIN_FLAVOR_DYNAMIC) {
    EXPECT_EQ(put(61), MPI_ERR_RMA_RANGE);
    EXPECT_EQ(put(PTRDIFF_MAX - 1), MPI_ERR_RMA_RANGE);
    EXPECT_EQ(class_of(MPI_Win_attach(win, &value, sizeof value)), MPI_ERR_RMA_FLAVOR);
  }
  value = 77 + world_rank();
  EXPECT_EQ(put(0), MPI_SUCCESS);  // the window still works
  ASSERT_EQ(MPI_Win_unlock(next, win), MPI_SUCCESS);
  EXPECT_EQ(put(0), MPI_ERR_RMA_SYNC);
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_EQ(*window.as<int>(), 77 + (world_rank() + world_size() - 1) % world_size());
  MPI_Group_free(&others);
}

/// Needs osc_mpix_check.
TEST(CheckedWindow, MemoryThatIsNotAttachedIsRefused) {
  char const* const check = std::getenv("OMPI_MCA_osc_mpix_check");
  if (check == nullptr || std::string_view(check) != "1") GTEST_SKIP() << "nothing is checked";
  TestWindow const window(MPI_WIN_FLAVOR_DYNAMIC, 64);
  long value = 5;
  int const next = (world_rank() + 1) % world_size();
  auto const put = [&](MPI_Aint where) {
    return class_of(MPI_Put(&value, 1, MPI_LONG, next, where, 1, MPI_LONG, window.window));
  };
  ASSERT_EQ(MPI_Win_lock_all(0, window.window), MPI_SUCCESS);
  EXPECT_EQ(put(window.at(next, 64 - 4)), MPI_ERR_RMA_RANGE);
  EXPECT_EQ(put(16), MPI_ERR_RMA_RANGE);
  EXPECT_EQ(put(window.at(next, 8)), MPI_SUCCESS);
  ASSERT_EQ(MPI_Win_unlock_all(window.window), MPI_SUCCESS);
}

TEST(WindowHints, ReportValuesInForce) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "no_locks", "true");
  MPI_Info_set(info, "accumulate_ordering", "none");
  {
    TestWindow const window(MPI_WIN_FLAVOR_ALLOCATE, 64, 1, info);
    EXPECT_EQ(class_of(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window.window)), MPI_ERR_RMA_SYNC);
    auto const value_of = [&](char const* key) {
      char value[MPI_MAX_INFO_VAL + 1] = "";
      int given = 0;
      MPI_Info used = MPI_INFO_NULL;
      MPI_Win_get_info(window.window, &used);
      MPI_Info_get(used, key, MPI_MAX_INFO_VAL, value, &given);
      MPI_Info_free(&used);
      return std::string(given != 0 ? value : "-");
    };
    EXPECT_EQ(value_of("no_locks"), "true");
    EXPECT_EQ(value_of("accumulate_ordering"), "none");
    EXPECT_EQ(value_of("accumulate_ops"), "same_op_no_op");
    EXPECT_EQ(value_of("same_size"), "false");
    MPI_Info_set(info, "accumulate_ordering", "rar,war");
    ASSERT_EQ(MPI_Win_set_info(window.window, info), MPI_SUCCESS);
    EXPECT_EQ(value_of("accumulate_ordering"), "rar,war");
  }
  MPI_Info_free(&info);
}

}  // namespace
}  // namespace mpixrma::test
