/// Effects of puts and gets, on windows of every flavour.
#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "tests/windows/calls.hpp"

namespace mpixrma::test {
namespace {

MPIX_ON_EACH_FLAVOUR(Calls);

TEST_P(Calls, W1131_01_put_moves_to_the_target) {
  for (int const count : {1, 2, 7, 100, 1000, 20000}) {
    std::vector<long> data(static_cast<std::size_t>(count));
    std::iota(data.begin(), data.end(), 1000 * rank_);
    EXPECT_EQ(MPI_Put(data.data(), count, MPI_LONG, next_, at(16), count, MPI_LONG, win()), MPI_SUCCESS);
    complete();
    EXPECT_EQ(mine<long>()[2], 1000 * previous_);
    EXPECT_EQ(mine<long>()[1 + count], 1000 * previous_ + count - 1);
    EXPECT_EQ(mine<long>()[1], 0);
    MPI_Barrier(world);
  }
}

TEST_P(Calls, W1132_01_get_moves_from_the_target) {
  for (int i = 0; i < 30000; ++i) mine<long>()[i] = 7 * i + rank_;
  complete();
  for (int const count : {1, 3, 100, 1000, 30000}) {
    std::vector<long> data(static_cast<std::size_t>(count) + 1, -1);
    EXPECT_EQ(MPI_Get(data.data(), count, MPI_LONG, next_, at(0), count, MPI_LONG, win()), MPI_SUCCESS);
    EXPECT_EQ(MPI_Win_flush(next_, win()), MPI_SUCCESS);
    EXPECT_EQ(data.front(), next_);
    EXPECT_EQ(data[static_cast<std::size_t>(count) - 1], 7 * (count - 1) + next_);
    EXPECT_EQ(data.back(), -1);
  }
}

TEST_P(Calls, W113_01_proc_null_is_accepted_as_target) {
  long value = 5;
  long result = 6;
  EXPECT_EQ(MPI_Put(&value, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, win()), MPI_SUCCESS);
  EXPECT_EQ(MPI_Get(&value, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, win()), MPI_SUCCESS);
  EXPECT_EQ(MPI_Accumulate(&value, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, MPI_SUM, win()), MPI_SUCCESS);
  EXPECT_EQ(MPI_Get_accumulate(&value, 1, MPI_LONG, &result, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG,
                               MPI_SUM, win()),
            MPI_SUCCESS);
  EXPECT_EQ(MPI_Fetch_and_op(&value, &result, MPI_LONG, MPI_PROC_NULL, 0, MPI_SUM, win()), MPI_SUCCESS);
  EXPECT_EQ(MPI_Compare_and_swap(&value, &value, &result, MPI_LONG, MPI_PROC_NULL, 0, win()), MPI_SUCCESS);
  EXPECT_EQ(MPI_Win_flush_all(win()), MPI_SUCCESS);
  EXPECT_EQ(value, 5);
  EXPECT_EQ(result, 6);
}

TEST_P(Calls, W113_02_counts_of_zero_have_no_effect) {
  long const value = 5;
  mine<long>()[0] = 3;
  complete();
  EXPECT_EQ(MPI_Put(&value, 0, MPI_LONG, next_, at(0), 0, MPI_LONG, win()), MPI_SUCCESS);
  EXPECT_EQ(MPI_Accumulate(&value, 0, MPI_LONG, next_, at(0), 0, MPI_LONG, MPI_SUM, win()), MPI_SUCCESS);
  EXPECT_EQ(MPI_Get(nullptr, 0, MPI_LONG, next_, at(0), 0, MPI_LONG, win()), MPI_SUCCESS);
  complete();
  EXPECT_EQ(mine<long>()[0], 3);
}

TEST_P(Calls, W113_03_process_accesses_itself) {
  long value = 40 + rank_;
  EXPECT_EQ(MPI_Put(&value, 1, MPI_LONG, rank_, window_->at(rank_, 8), 1, MPI_LONG, win()), MPI_SUCCESS);
  MPI_Win_flush(rank_, win());
  long const one = 1;
  long before = 0;
  MPI_Fetch_and_op(&one, &before, MPI_LONG, rank_, window_->at(rank_, 8), MPI_SUM, win());
  MPI_Win_flush(rank_, win());
  EXPECT_EQ(before, 40 + rank_);
  EXPECT_EQ(mine<long>()[1], 41 + rank_);
}

TEST_P(Calls, W1131_02_datatypes_differ_on_the_sides) {
  // A strided target, and a contiguous origin.
  MPI_Datatype strided = MPI_DATATYPE_NULL;
  MPI_Type_vector(1000, 1, 3, MPI_INT, &strided);
  MPI_Type_commit(&strided);
  std::vector<int> data(1000);
  std::iota(data.begin(), data.end(), rank_ * 10000);
  EXPECT_EQ(MPI_Put(data.data(), 1000, MPI_INT, next_, at(4), 1, strided, win()), MPI_SUCCESS);
  complete();
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(mine<int>()[1 + 3 * i], previous_ * 10000 + i);
    EXPECT_EQ(mine<int>()[2 + 3 * i], 0);
  }
  MPI_Barrier(world);
  std::vector<int> back(3000, -1);
  EXPECT_EQ(MPI_Get(back.data(), 1, strided, next_, at(4), 1, strided, win()), MPI_SUCCESS);
  MPI_Win_flush(next_, win());
  EXPECT_EQ(back[999 * 3], rank_ * 10000 + 999);
  EXPECT_EQ(back[1], -1);
  MPI_Type_free(&strided);
}

TEST_P(Calls, W113_04_datatype_may_be_freed_before_completion) {
  MPI_Datatype pair = MPI_DATATYPE_NULL;
  MPI_Type_vector(2, 1, 2, MPI_LONG, &pair);
  MPI_Type_commit(&pair);
  long const data[2] = {rank_, rank_ + 1};
  MPI_Put(data, 2, MPI_LONG, next_, at(0), 1, pair, win());
  MPI_Type_free(&pair);
  complete();
  EXPECT_EQ(mine<long>()[0], previous_);
  EXPECT_EQ(mine<long>()[2], previous_ + 1);
}

TEST_P(Calls, NegativeLowerBoundReachesBelowDisplacement) {
  MPI_Datatype backwards = MPI_DATATYPE_NULL;
  int const lengths[] = {1, 1};
  MPI_Aint const places[] = {-16, 8};
  MPI_Type_create_hindexed(2, lengths, places, MPI_LONG, &backwards);
  MPI_Type_commit(&backwards);
  long const data[] = {11 + rank_, 22 + rank_};
  EXPECT_EQ(MPI_Put(data, 2, MPI_LONG, next_, at(32), 1, backwards, win()), MPI_SUCCESS);
  complete();
  EXPECT_EQ(mine<long>()[2], 11 + previous_);
  EXPECT_EQ(mine<long>()[5], 22 + previous_);
  MPI_Barrier(world);
  EXPECT_EQ(MPI_Accumulate(data, 2, MPI_LONG, next_, at(32), 1, backwards, MPI_SUM, win()), MPI_SUCCESS);
  complete();
  EXPECT_EQ(mine<long>()[2], 2 * (11 + previous_));
  EXPECT_EQ(mine<long>()[5], 2 * (22 + previous_));
  MPI_Barrier(world);
  long back[8] = {};
  EXPECT_EQ(MPI_Get(back + 4, 1, backwards, next_, at(32), 1, backwards, win()), MPI_SUCCESS);
  MPI_Win_flush(next_, win());
  EXPECT_EQ(back[2], 2 * (11 + rank_));
  EXPECT_EQ(back[5], 2 * (22 + rank_));
  MPI_Type_free(&backwards);
}

/// Returns a datatype of three variables, for MPI_BOTTOM.
MPI_Datatype absolute_type(long (&variables)[5]) {
  int const lengths[] = {1, 1, 1};
  MPI_Aint places[3] = {};
  for (int i = 0; i < 3; ++i) MPI_Get_address(&variables[2 * i], &places[i]);
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_hindexed(3, lengths, places, MPI_LONG, &type);
  MPI_Type_commit(&type);
  return type;
}

TEST_P(Calls, OriginsMayBeAtMpiBottom) {
  long from[5] = {1 + rank_, 0, 2 + rank_, 0, 3 + rank_};
  long back[5] = {-1, -1, -1, -1, -1};
  MPI_Datatype out = absolute_type(from);
  MPI_Datatype in = absolute_type(back);
  auto const expect_back = [&](long factor) {
    MPI_Win_flush(next_, win());
    for (int i = 0; i < 3; ++i) EXPECT_EQ(back[2 * i], factor * (1 + i + rank_));
    EXPECT_EQ(back[1], -1);
    for (long& value : back) value = -1;
  };
  EXPECT_EQ(MPI_Put(MPI_BOTTOM, 1, out, next_, at(64), 3, MPI_LONG, win()), MPI_SUCCESS);
  EXPECT_EQ(MPI_Win_flush(next_, win()), MPI_SUCCESS);
  EXPECT_EQ(MPI_Get(MPI_BOTTOM, 1, in, next_, at(64), 3, MPI_LONG, win()), MPI_SUCCESS);
  expect_back(1);
  EXPECT_EQ(MPI_Accumulate(MPI_BOTTOM, 1, out, next_, at(64), 3, MPI_LONG, MPI_SUM, win()), MPI_SUCCESS);
  EXPECT_EQ(
      MPI_Get_accumulate(MPI_BOTTOM, 1, out, MPI_BOTTOM, 1, in, next_, at(64), 3, MPI_LONG, MPI_SUM, win()),
      MPI_SUCCESS);
  expect_back(2);
  EXPECT_EQ(MPI_Get(MPI_BOTTOM, 1, in, next_, at(64), 3, MPI_LONG, win()), MPI_SUCCESS);
  expect_back(3);
  MPI_Type_free(&out);
  MPI_Type_free(&in);
}

/// Transfers 3 GiB of data: with MPIX_TEST_LARGE=1.
TEST_F(WindowTest, MoreThanTwoGibibytesInOneCall) {
  if (std::getenv("MPIX_TEST_LARGE") == nullptr) GTEST_SKIP() << "MPIX_TEST_LARGE is not set";
  constexpr int blocks = 3 * 1024;
  constexpr MPI_Aint bytes = MPI_Aint{blocks} << 20;
  MPI_Datatype block = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(1 << 17, MPI_LONG, &block);
  MPI_Type_commit(&block);
  Window const window(Flavour::allocate, rank_ == 0 ? bytes : 0, 8);
  if (rank_ == size_ - 1) {
    std::vector<long> data(static_cast<std::size_t>(bytes) / 8);
    std::iota(data.begin(), data.end(), 5);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    EXPECT_EQ(MPI_Put(data.data(), blocks, block, 0, 0, blocks, block, window), MPI_SUCCESS);
    MPI_Win_flush(0, window);
    std::fill(data.begin(), data.end(), 0);
    EXPECT_EQ(MPI_Get(data.data(), blocks, block, 0, 0, blocks, block, window), MPI_SUCCESS);
    MPI_Win_unlock(0, window);
    for (std::size_t i = 0; i < data.size(); i += 4097) ASSERT_EQ(data[i], static_cast<long>(i) + 5);
    EXPECT_EQ(data.back(), static_cast<long>(data.size()) + 4);
  }
  MPI_Barrier(world);
  MPI_Type_free(&block);
}

}  // namespace
}  // namespace mpixrma::test
