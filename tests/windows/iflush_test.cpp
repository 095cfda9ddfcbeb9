/// Flushes with a request.
#include <algorithm>
#include <functional>

#include "include/mpix_rma.h"
#include "tests/windows/put_longs.hpp"
#include "tests/windows/support.hpp"

namespace mpixrma::test {
namespace {

class Iflush : public FlavourTest {
 protected:
  static void expect_end_of(MPI_Request& request) {
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(request, MPI_REQUEST_NULL);
  }
};
MPIX_ON_EACH_FLAVOUR(Iflush);

TEST_P(Iflush, E_10_request_is_complete_when_the_target_has_the_data) {
  Window const window(GetParam(), bytes_of_longs);
  std::vector<long> values(longs);
  MPI_Win_lock_all(0, window);
  for (int round = 0; round < 6; ++round) {
    MPI_Request request = MPI_REQUEST_NULL;
    std::fill(values.begin(), values.end(), 100 * round + rank_);
    put(values.data(), round % 2 == 0 ? longs : 1, next_, window.at(next_, 0), window);
    ASSERT_EQ(round < 3 ? MPIX_Win_iflush(next_, window, &request) : MPIX_Win_iflush_all(window, &request),
              MPI_SUCCESS);
    expect_end_of(request);
    MPI_Barrier(world);
    EXPECT_EQ(window.base<long>()[0], 100 * round + previous_);
    if (round % 2 == 0) EXPECT_EQ(window.base<long>()[longs - 1], 100 * round + previous_);
    MPI_Barrier(world);
  }
  MPI_Win_unlock_all(window);
}

TEST_P(Iflush, E_11_covers_each_target) {
  Window const window(GetParam(), 4096);
  std::vector<long> sent(static_cast<std::size_t>(size_));
  std::vector<long> read(static_cast<std::size_t>(size_), -1);
  MPI_Aint const own = static_cast<MPI_Aint>(sizeof(long)) * rank_;
  MPI_Win_lock_all(0, window);
  for (int target = 0; target < size_; ++target) {
    auto const place = static_cast<std::size_t>(target);
    sent[place] = 10 * rank_ + target;
    MPI_Accumulate(&sent[place], 1, MPI_LONG, target, window.at(target, own), 1, MPI_LONG, MPI_SUM, window);
  }
  MPI_Request request = MPI_REQUEST_NULL;
  ASSERT_EQ(MPIX_Win_iflush_all(window, &request), MPI_SUCCESS);
  expect_end_of(request);
  MPI_Barrier(world);
  for (int origin = 0; origin < size_; ++origin) EXPECT_EQ(window.base<long>()[origin], 10 * origin + rank_);
  for (int target = 0; target < size_; ++target)
    MPI_Get(&read[static_cast<std::size_t>(target)], 1, MPI_LONG, target, window.at(target, own), 1, MPI_LONG,
            window);
  ASSERT_EQ(MPIX_Win_iflush_local_all(window, &request), MPI_SUCCESS);
  expect_end_of(request);
  EXPECT_EQ(read, sent);
  MPI_Win_unlock_all(window);
}

TEST_P(Iflush, E_12_local_one_frees_the_buffers) {
  Window const window(GetParam(), bytes_of_longs);
  std::vector<long> values(longs);
  MPI_Win_lock(MPI_LOCK_SHARED, next_, 0, window);
  for (int round = 0; round < 6; ++round) {
    MPI_Request request = MPI_REQUEST_NULL;
    std::fill(values.begin(), values.end(), 100 * round + rank_);
    put(values.data(), longs, next_, window.at(next_, 0), window);
    ASSERT_EQ(MPIX_Win_iflush_local(next_, window, &request), MPI_SUCCESS);
    expect_end_of(request);
    std::fill(values.begin(), values.end(), -1);
    MPI_Win_flush(next_, window);
    MPI_Barrier(world);
    EXPECT_EQ(std::count(window.base<long>(), window.base<long>() + longs, 100 * round + previous_), longs);
    MPI_Barrier(world);
  }
  MPI_Win_unlock(next_, window);
}

TEST_P(Iflush, E_13_several_are_in_flight_at_once) {
  constexpr int rounds = 16;
  Window const window(GetParam(), bytes_of_longs);
  std::vector<long> read(rounds, -1);
  std::vector<long> added(rounds, 1);
  std::vector<MPI_Request> requests(2 * rounds, MPI_REQUEST_NULL);
  MPI_Win_lock_all(0, window);
  for (std::size_t i = 0; i < rounds; ++i) {
    MPI_Aint const at = window.at(next_, 0);
    MPI_Fetch_and_op(&added[i], &read[i], MPI_LONG, next_, at, MPI_SUM, window);
    EXPECT_EQ(MPIX_Win_iflush(next_, window, &requests[2 * i]), MPI_SUCCESS);
    EXPECT_EQ(MPIX_Win_iflush_local(next_, window, &requests[2 * i + 1]), MPI_SUCCESS);
  }
  EXPECT_EQ(MPI_Waitall(2 * rounds, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
  for (long i = 0; i < rounds; ++i) EXPECT_EQ(read[static_cast<std::size_t>(i)], i);
  MPI_Win_unlock_all(window);
}

TEST_P(Iflush, E_14_requests_may_outlive_the_epoch_and_the_window) {
  std::vector<long> const values(longs, 3 + rank_);
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  {
    Window const window(GetParam(), bytes_of_longs);
    MPI_Win_lock_all(0, window);
    put(values.data(), longs, next_, window.at(next_, 0), window);
    EXPECT_EQ(MPIX_Win_iflush(next_, window, &requests[0]), MPI_SUCCESS);
    EXPECT_EQ(MPIX_Win_iflush_local_all(window, &requests[1]), MPI_SUCCESS);
    MPI_Win_unlock_all(window);
    MPI_Barrier(world);
    EXPECT_EQ(window.base<long>()[longs - 1], 3 + previous_);
  }
  EXPECT_EQ(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
}

TEST_P(Iflush, E_15_of_several_threads) {
  constexpr int rounds = 20;
  Window const window(GetParam(), 64);
  MPI_Win_lock_all(0, window);
  on_threads([&](int thread) {
    MPI_Aint const at = window.at(next_, static_cast<MPI_Aint>(sizeof(long)) * thread);
    for (long round = 1; round <= rounds; ++round) {
      long read = -1;
      MPI_Request request = MPI_REQUEST_NULL;
      put(&round, 1, next_, at, window);
      EXPECT_EQ(MPIX_Win_iflush(next_, window, &request), MPI_SUCCESS);
      EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
      MPI_Get(&read, 1, MPI_LONG, next_, at, 1, MPI_LONG, window);
      EXPECT_EQ(MPIX_Win_iflush_all(window, &request), MPI_SUCCESS);
      EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
      EXPECT_EQ(read, round);
    }
  });
  MPI_Win_unlock_all(window);
}

TEST_P(Iflush, E_16_errors_are_those_of_the_flushes) {
  Window const window(GetParam(), 64);
  MPI_Request request = MPI_REQUEST_NULL;
  using One = std::function<int(int, MPI_Request*)>;
  using All = std::function<int(MPI_Request*)>;
  One const ones[] = {[&](int rank, MPI_Request* out) { return MPIX_Win_iflush(rank, window, out); },
                      [&](int rank, MPI_Request* out) { return MPIX_Win_iflush_local(rank, window, out); }};
  All const alls[] = {[&](MPI_Request* out) { return MPIX_Win_iflush_all(window, out); },
                      [&](MPI_Request* out) { return MPIX_Win_iflush_local_all(window, out); }};
  for (One const& one : ones) EXPECT_EQ(class_of(one(next_, &request)), MPI_ERR_RMA_SYNC);
  for (All const& all : alls) EXPECT_EQ(class_of(all(&request)), MPI_ERR_RMA_SYNC);
  MPI_Win_lock_all(0, window);
  for (One const& one : ones) {
    EXPECT_EQ(class_of(one(-1, &request)), MPI_ERR_RANK);
    EXPECT_EQ(class_of(one(size_, &request)), MPI_ERR_RANK);
    EXPECT_EQ(class_of(one(next_, nullptr)), MPI_ERR_REQUEST);
    EXPECT_EQ(request, MPI_REQUEST_NULL);
    EXPECT_EQ(one(MPI_PROC_NULL, &request), MPI_SUCCESS);
    expect_end_of(request);
    EXPECT_EQ(one(next_, &request), MPI_SUCCESS);
    expect_end_of(request);
  }
  for (All const& all : alls) {
    EXPECT_EQ(class_of(all(nullptr)), MPI_ERR_REQUEST);
    EXPECT_EQ(all(&request), MPI_SUCCESS);
    expect_end_of(request);
  }
  MPI_Win_unlock_all(window);
}

/// The call that issues the operation, or the request, reports the error: the window continues to work.
TEST_F(WindowTest, E_17_iflush_reports_failed_operations) {
  Window const window(Flavour::dynamic, 64);
  long const value = 5;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Win_lock_all(0, window);
  int const put_code = MPI_Put(&value, 1, MPI_LONG, next_, 0x10, 1, MPI_LONG, window);
  ASSERT_EQ(MPIX_Win_iflush(next_, window, &request), MPI_SUCCESS);
  int const wait_code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  int const code = put_code != MPI_SUCCESS ? put_code : wait_code;
  EXPECT_EQ(class_of(code), MPI_ERR_RMA_RANGE);
  std::string const place = "a put of 8 bytes at displacement 16 of rank " + std::to_string(next_);
  EXPECT_NE(text_of(code).find(place), std::string::npos) << text_of(code);
  EXPECT_EQ(put(&value, 1, next_, window.at(next_, 0), window), MPI_SUCCESS);
  ASSERT_EQ(MPIX_Win_iflush(next_, window, &request), MPI_SUCCESS);
  EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  MPI_Win_unlock_all(window);
  MPI_Barrier(world);
  EXPECT_EQ(window.base<long>()[0], 5);
}

}  // namespace
}  // namespace mpixrma::test
