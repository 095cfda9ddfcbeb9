/// Info: values requested at creation and later, and values in force.
#include "tests/windows/support.hpp"

namespace mpixrma::test {
namespace {

class Keys : public FlavourTest {};
MPIX_ON_EACH_FLAVOUR(Keys);

TEST_P(Keys, W1127_01_values_in_force_are_reported) {
  Info const info{{"no_locks", "true"},  {"accumulate_ordering", "rar,waw"}, {"accumulate_ops", "same_op"},
                  {"same_size", "true"}, {"same_disp_unit", "true"},         {"something_else", "entirely"}};
  Window const window(GetParam(), 64, 1, info.get());
  EXPECT_EQ(value_of(window, "no_locks"), "true");
  EXPECT_EQ(value_of(window, "accumulate_ops"), "same_op");
  EXPECT_NE(value_of(window, "accumulate_ordering"), "");
  EXPECT_EQ(value_of(window, "same_size"), "true");
  EXPECT_EQ(value_of(window, "same_disp_unit"), "true");
}

TEST_P(Keys, W1127_02_values_by_default) {
  Window const window(GetParam(), 64);
  EXPECT_EQ(value_of(window, "no_locks"), "false");
  EXPECT_EQ(value_of(window, "accumulate_ops"), "same_op_no_op");
  EXPECT_EQ(value_of(window, "accumulate_ordering"), "rar,raw,war,waw");
}

TEST_P(Keys, KeysAreShownForFlavoursThatTheyApplyTo) {
  Window const window(GetParam(), 64);
  if (value_of(window, "mpix_order").empty()) GTEST_SKIP() << "another component's window";
  bool const shared = GetParam() == Flavour::shared;
  bool const allocates = shared || GetParam() == Flavour::allocate;
  EXPECT_EQ(value_of(window, "alloc_shared_noncontig"), shared ? "false" : "");
  EXPECT_EQ(value_of(window, "mpi_minimum_memory_alignment"), allocates ? "64" : "");
  Info const given{{"alloc_shared_noncontig", "true"}, {"mpi_minimum_memory_alignment", "128"}};
  Window const told(GetParam(), 64, 1, given.get());
  EXPECT_EQ(value_of(told, "alloc_shared_noncontig"), "true");
  EXPECT_EQ(value_of(told, "mpi_minimum_memory_alignment"), "128");
}

TEST_P(Keys, W1127_03_info_may_change) {
  Window const window(GetParam(), 64);
  Info const info{{"accumulate_ordering", "none"}, {"accumulate_ops", "same_op"}};
  EXPECT_EQ(MPI_Win_set_info(window, info.get()), MPI_SUCCESS);
  // The window accepts the value or declines it, and continues to work in either case.
  std::string const ops = value_of(window, "accumulate_ops");
  EXPECT_TRUE(ops == "same_op" || ops == "same_op_no_op") << ops;
  long const one = 1;
  MPI_Win_fence(0, window);
  MPI_Accumulate(&one, 1, MPI_LONG, next_, window.at(next_, 0), 1, MPI_LONG, MPI_SUM, window);
  MPI_Win_fence(0, window);
  EXPECT_EQ(window.base<long>()[0], 1);
}

TEST_P(Keys, W1127_04_windows_with_every_key_work) {
  Info const info{{"no_locks", "true"},
                  {"accumulate_ordering", "none"},
                  {"accumulate_ops", "same_op"},
                  {"same_size", "true"},
                  {"same_disp_unit", "true"},
                  {"acc_single_intrinsic", "true"},
                  {"mpi_accumulate_granularity", "8"},
                  {"mpi_minimum_memory_alignment", "128"}};
  Window const window(GetParam(), 1024, 1, info.get());
  long const one = 1;
  MPI_Win_fence(0, window);
  for (int i = 0; i < 10; ++i)
    MPI_Accumulate(&one, 1, MPI_LONG, 0, window.at(0, 8), 1, MPI_LONG, MPI_SUM, window);
  MPI_Win_fence(0, window);
  if (rank_ == 0) EXPECT_EQ(window.base<long>()[1], 10 * size_);
}

TEST_P(Keys, IgnoresInvalidValues) {
  if (value_of(Window(GetParam(), 64), "mpix_order").empty()) GTEST_SKIP() << "another component's window";
  char const* const invalid = rank_ == 0 ? "odd" : "even";
  Info const info{{"no_locks", invalid},
                  {"accumulate_ordering", invalid},
                  {"mpix_order", invalid},
                  {"mpi_assert_max_num_notify", invalid},
                  {"mpi_minimum_memory_alignment", rank_ == 0 ? "3" : "odd"}};
  Window const window(GetParam(), 64, 1, info.get());
  ASSERT_EQ(MPI_Win_lock_all(0, window), MPI_SUCCESS);
  long const value = 7;
  EXPECT_EQ(MPI_Put(&value, 1, MPI_LONG, next_, window.at(next_, 0), 1, MPI_LONG, window), MPI_SUCCESS);
  MPI_Win_unlock_all(window);
  MPI_Barrier(world);
  EXPECT_EQ(window.base<long>()[0], 7);
}

TEST_P(Keys, OrderIsKeptUnlessRelaxed) {
  Window const kept(GetParam(), 64);
  if (value_of(kept, "mpix_order").empty()) GTEST_SKIP() << "another component's window";
  EXPECT_EQ(value_of(kept, "mpix_order"), "overlapping");
  Info const none{{"mpix_order", "none"}};
  Window const given_up(GetParam(), 64, 1, none.get());
  EXPECT_EQ(value_of(given_up, "mpix_order"), "none");
  EXPECT_EQ(MPI_Win_set_info(kept, none.get()), MPI_SUCCESS);
  EXPECT_EQ(value_of(kept, "mpix_order"), "none");
}

TEST_F(WindowTest, MemoryHasRequestedAlignment) {
  for (char const* const alignment : {"256", "4096"}) {
    Info const info{{"mpi_minimum_memory_alignment", alignment}};
    Window const window(Flavour::allocate, 100, 1, info.get());
    EXPECT_EQ(
        reinterpret_cast<std::uintptr_t>(window.base()) % static_cast<std::uintptr_t>(std::atoi(alignment)),
        0u);
  }
}

}  // namespace
}  // namespace mpixrma::test
