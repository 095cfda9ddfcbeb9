/// Calls that return requests.
#include <array>

#include "tests/windows/support.hpp"

namespace mpixrma::test {
namespace {

class RequestForms : public FlavourTest {
 protected:
  static constexpr int count = 4000;
};
MPIX_ON_EACH_FLAVOUR(RequestForms);

TEST_P(RequestForms, W1135_01_rput_frees_the_origin) {
  Window const window(GetParam(), count * 8);
  std::vector<long> data(count, rank_ + 1);
  MPI_Win_lock_all(0, window);
  MPI_Request request = MPI_REQUEST_NULL;
  EXPECT_EQ(
      MPI_Rput(data.data(), count, MPI_LONG, next_, window.at(next_, 0), count, MPI_LONG, window, &request),
      MPI_SUCCESS);
  EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(request, MPI_REQUEST_NULL);
  std::fill(data.begin(), data.end(), -1);
  MPI_Win_flush(next_, window);
  MPI_Barrier(world);
  MPI_Win_sync(window);
  EXPECT_EQ(window.base<long>()[0], previous_ + 1);
  EXPECT_EQ(window.base<long>()[count - 1], previous_ + 1);
  MPI_Win_unlock_all(window);
}

TEST_P(RequestForms, W1135_07_not_in_epochs_of_fences) {
  Window const window(GetParam(), count * 8);
  MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
  MPI_Win_fence(0, window);
  long value = 1;
  MPI_Request request = MPI_REQUEST_NULL;
  EXPECT_EQ(
      class_of(MPI_Rput(&value, 1, MPI_LONG, next_, window.at(next_, 0), 1, MPI_LONG, window, &request)),
      MPI_ERR_RMA_SYNC);
  EXPECT_EQ(
      class_of(MPI_Rget(&value, 1, MPI_LONG, next_, window.at(next_, 0), 1, MPI_LONG, window, &request)),
      MPI_ERR_RMA_SYNC);
  MPI_Win_fence(0, window);
}

TEST_P(RequestForms, W1135_02_rget_has_the_data) {
  Window const window(GetParam(), count * 8);
  for (int i = 0; i < count; ++i) window.base<long>()[i] = i + rank_;
  MPI_Barrier(world);
  MPI_Win_lock_all(0, window);
  std::vector<long> data(count);
  MPI_Request request = MPI_REQUEST_NULL;
  EXPECT_EQ(
      MPI_Rget(data.data(), count, MPI_LONG, next_, window.at(next_, 0), count, MPI_LONG, window, &request),
      MPI_SUCCESS);
  for (int done = 0; done == 0;) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  for (int i = 0; i < count; ++i) ASSERT_EQ(data[static_cast<std::size_t>(i)], i + next_);
  MPI_Win_unlock_all(window);
}

TEST_P(RequestForms, W1135_03_raccumulate_and_rget_accumulate) {
  Window const window(GetParam(), count * 8);
  MPI_Win_lock_all(0, window);
  std::vector<double> const ones(count, 1.0);
  std::vector<double> result(count, -1);
  std::array<MPI_Request, 3> requests;
  MPI_Raccumulate(ones.data(), count, MPI_DOUBLE, next_, window.at(next_, 0), count, MPI_DOUBLE, MPI_SUM,
                  window, &requests[0]);
  MPI_Rget_accumulate(ones.data(), count, MPI_DOUBLE, result.data(), count, MPI_DOUBLE, next_,
                      window.at(next_, 0), count, MPI_DOUBLE, MPI_SUM, window, &requests[1]);
  MPI_Raccumulate(ones.data(), count, MPI_DOUBLE, next_, window.at(next_, 0), count, MPI_DOUBLE, MPI_SUM,
                  window, &requests[2]);
  EXPECT_EQ(MPI_Waitall(3, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(result.front(), 1.0);
  EXPECT_EQ(result.back(), 1.0);
  MPI_Win_flush(next_, window);
  MPI_Barrier(world);
  MPI_Win_sync(window);
  EXPECT_EQ(window.base<double>()[0], 3.0);
  EXPECT_EQ(window.base<double>()[count - 1], 3.0);
  MPI_Win_unlock_all(window);
}

TEST_P(RequestForms, W1135_04_thousands_are_outstanding) {
  constexpr int requests = 3000;
  Window const window(GetParam(), requests * 8);
  std::vector<long> data(requests);
  std::vector<MPI_Request> handles(requests);
  MPI_Win_lock_all(0, window);
  for (int i = 0; i < requests; ++i) {
    auto const index = static_cast<std::size_t>(i);
    data[index] = i + 10000 * rank_;
    MPI_Rput(&data[index], 1, MPI_LONG, next_, window.at(next_, 8 * i), 1, MPI_LONG, window, &handles[index]);
  }
  int left = requests;
  std::vector<int> indices(requests);
  while (left > 0) {
    int done = 0;
    ASSERT_EQ(MPI_Waitsome(requests, handles.data(), &done, indices.data(), MPI_STATUSES_IGNORE),
              MPI_SUCCESS);
    ASSERT_GT(done, 0);
    left -= done;
  }
  MPI_Win_unlock_all(window);
  MPI_Barrier(world);
  for (int i = 0; i < requests; ++i) ASSERT_EQ(window.base<long>()[i], i + 10000 * previous_);
}

TEST_P(RequestForms, W1135_05_requests_outlive_their_epoch) {
  Window const window(GetParam(), 64);
  long const number = 5 + rank_;
  long back = -1;
  std::array<MPI_Request, 2> requests;
  MPI_Win_lock(MPI_LOCK_SHARED, next_, 0, window);
  MPI_Rput(&number, 1, MPI_LONG, next_, window.at(next_, 0), 1, MPI_LONG, window, &requests[0]);
  MPI_Rget(&back, 1, MPI_LONG, next_, window.at(next_, 8), 1, MPI_LONG, window, &requests[1]);
  MPI_Win_unlock(next_, window);
  EXPECT_EQ(back, 0);
  EXPECT_EQ(MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
  MPI_Barrier(world);
  EXPECT_EQ(window.base<long>()[0], 5 + previous_);
}

TEST_P(RequestForms, W1135_06_requests_to_proc_null_are_complete) {
  Window const window(GetParam(), 64);
  long value = 1;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Win_lock_all(0, window);
  EXPECT_EQ(MPI_Rput(&value, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, window, &request), MPI_SUCCESS);
  EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(MPI_Rget(&value, 0, MPI_LONG, next_, window.at(next_, 0), 0, MPI_LONG, window, &request),
            MPI_SUCCESS);
  EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(value, 1);
  MPI_Win_unlock_all(window);
}

}  // namespace
}  // namespace mpixrma::test
