/// Windows on shared memory: updates through different windows are atomic with each other.
#include "tests/windows/support.hpp"

namespace mpixrma::test {
namespace {

/// All ranks update doubles, which no processor adds in one instruction, through two windows on the same
/// bytes.
void update_by_turns(MPI_Win one, int one_rank, MPI_Aint one_disp, MPI_Win other, int other_rank,
                     MPI_Aint other_disp) {
  constexpr int rounds = 3000;
  double const ones[4] = {1, 1, 1, 1};
  double before[4];
  for (int i = 0; i < rounds; ++i) {
    bool const first = i % 2 == 0;
    MPI_Win const window = first ? one : other;
    int const rank = first ? one_rank : other_rank;
    MPI_Aint const disp = first ? one_disp : other_disp;
    MPI_Accumulate(ones, 4, MPI_DOUBLE, rank, disp, 4, MPI_DOUBLE, MPI_SUM, window);
    MPI_Accumulate(ones, 1, MPI_DOUBLE, rank, disp, 1, MPI_DOUBLE, MPI_SUM, window);
    if (i % 5 == 0)
      MPI_Get_accumulate(ones, 4, MPI_DOUBLE, before, 4, MPI_DOUBLE, rank, disp, 4, MPI_DOUBLE, MPI_SUM,
                         window);
    if (i % 7 == 0) MPI_Fetch_and_op(ones, before, MPI_DOUBLE, rank, disp, MPI_SUM, window);
    if (i % 50 == 0) MPI_Win_flush(rank, window);
  }
}

/// Returns the sum that update_by_turns() of `ranks` ranks adds to the first element, or to each other one.
double expected(int ranks, bool first) {
  double of_each = 0;
  for (int i = 0; i < 3000; ++i) of_each += 1 + (i % 5 == 0) + (first ? 1 + (i % 7 == 0) : 0);
  return of_each * ranks;
}

void check(double const* values, int ranks) {
  EXPECT_EQ(values[0], expected(ranks, true)) << "updates were lost";
  for (int i = 1; i < 4; ++i) EXPECT_EQ(values[i], expected(ranks, false)) << i;
}

class MemoryAliases : public ::testing::Test {
 protected:
  void SetUp() override {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    if (!can_share()) GTEST_SKIP() << "needs shared memory";
  }
  int rank_ = 0;
  int size_ = 1;
};

TEST_F(MemoryAliases, WindowOnOwnPartOfSharedWindowIsAtomicWithIt) {
  for (char const* const apart : {"false", "true"}) {
    Info const info{{"alloc_shared_noncontig", apart}};
    Window shared(Flavour::shared, 64, 8, info.get());
    int const target = size_ - 1;
    MPI_Win again = MPI_WIN_NULL;
    MPI_Win_create(shared.base<char>(), 64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &again);
    MPI_Win_lock_all(0, shared);
    MPI_Win_lock_all(0, again);
    update_by_turns(shared, target, 1, again, target, 8);
    MPI_Win_unlock_all(again);
    MPI_Win_unlock_all(shared);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_ == target) check(shared.base<double>() + 1, size_);
    MPI_Win_free(&again);
  }
}

TEST_F(MemoryAliases, WindowOnMemoryOfAnotherRankIsAtomicWithItsWindow) {
  Window shared(Flavour::allocate, 128, 8);
  MPI_Aint bytes = 0;
  int unit = 0;
  char* there = nullptr;
  MPI_Win_shared_query(shared, 0, &bytes, &unit, &there);
  ASSERT_EQ(bytes, 128);
  // The last rank contributes the middle of rank 0's memory; the others contribute nothing.
  int const target = size_ - 1;
  MPI_Win middle = MPI_WIN_NULL;
  MPI_Win_create(rank_ == target ? there + 32 : nullptr, rank_ == target ? 64 : 0, 8, MPI_INFO_NULL,
                 MPI_COMM_WORLD, &middle);
  MPI_Win_lock_all(0, shared);
  MPI_Win_lock_all(0, middle);
  update_by_turns(shared, 0, 6, middle, target, 2);
  double beyond = 0;
  MPI_Win_set_errhandler(middle, MPI_ERRORS_RETURN);
  int error_class = MPI_SUCCESS;
  MPI_Error_class(MPI_Get(&beyond, 1, MPI_DOUBLE, target, 8, 1, MPI_DOUBLE, middle), &error_class);
  EXPECT_EQ(error_class, MPI_ERR_RMA_RANGE) << "within the memory of rank 0, not within the window";
  MPI_Win_unlock_all(middle);
  MPI_Win_unlock_all(shared);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank_ == 0) check(shared.base<double>() + 6, size_);
  double* base = nullptr;
  MPI_Win_shared_query(middle, target, &bytes, &unit, &base);
  EXPECT_EQ(bytes, 64);
  if (bytes == 64) {
    EXPECT_EQ(base[2], expected(size_, true));
  }
  MPI_Win_free(&middle);
}

/// The memory of a freed window may be reused by another one.
TEST_F(MemoryAliases, EndWithTheirWindow) {
  for (int round = 0; round < 20; ++round) {
    { Window shared(Flavour::shared, 64 + round % 3 * 4096, 8); }
    Window allocated(Flavour::allocate, 64, 8);
    MPI_Win again = MPI_WIN_NULL;
    MPI_Win_create(allocated.base<char>(), 64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &again);
    MPI_Win_fence(0, again);
    double const value = rank_ + 1;
    int const next = (rank_ + 1) % size_;
    MPI_Put(&value, 1, MPI_DOUBLE, next, 3, 1, MPI_DOUBLE, again);
    MPI_Win_fence(0, again);
    EXPECT_EQ(allocated.base<double>()[3], (rank_ + size_ - 1) % size_ + 1);
    MPI_Win_free(&again);
  }
}

}  // namespace
}  // namespace mpixrma::test
