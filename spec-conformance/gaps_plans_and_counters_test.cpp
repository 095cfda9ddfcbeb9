/// Behaviour that the document leaves open: the life of notification counters, and plans of several threads.
#include <atomic>
#include <thread>

#include "spec-conformance/support.hpp"

namespace mpixrma::test {
namespace {

/// Nothing but the completion of the operation precedes the message to the target.
TEST_F(G, G_13_remote_completion_includes_the_notification) {
  constexpr int rounds = 30;
  Duplicate comm;
  ASSERT_EQ(rma_set_num_notify(comm, 1), MPI_SUCCESS);
  MPIX_RMA_Attributes chosen = attributes(MPIX_RMA_ATTR_NOTIFY | blocking_remote);
  chosen.notify_index = 0;
  std::vector<long> values(2000, 1);
  MPI_Count expected = 0;
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    for (int round = 0; round < rounds; ++round) {
      auto const op = round % 3 == 0 ? MPIX_RMA_ACCUMULATE : MPIX_RMA_PUT;
      int const count = round % 2 == 0 ? 1 : static_cast<int>(values.size());
      ASSERT_EQ(MPIX_RMA_xfer(op, values.data(), count, MPI_LONG, next_, there(kind), count, MPI_LONG,
                              nullptr, &comm, &chosen),
                MPI_SUCCESS);
      MPI_Sendrecv(nullptr, 0, MPI_INT, next_, 0, nullptr, 0, MPI_INT, previous_, 0, world,
                   MPI_STATUS_IGNORE);
      MPI_Count value = -1;
      ASSERT_EQ(rma_get_notify_value(comm, 0, &value), MPI_SUCCESS);
      ASSERT_EQ(value, ++expected) << "kind " << kind << " round " << round;
      MPI_Barrier(world);
    }
  }
}

/// A failed call leaves the counters; when one succeeds, those of all ranks are there and zero.
TEST_F(G, G_13_new_counters_can_be_incremented_at_once) {
  ErrorsReturn const returned(world);
  Duplicate comm;
  MPIX_RMA_Attributes chosen = attributes(MPIX_RMA_ATTR_NOTIFY);
  for (int round = 1; round <= 20; ++round) {
    ASSERT_EQ(rma_set_num_notify(comm, round), MPI_SUCCESS);
    chosen.notify_index = round - 1;
    long value = 1;
    ASSERT_EQ(MPIX_RMA_xfer(MPIX_RMA_PUT, &value, 1, MPI_LONG, next_, there(0), 1, MPI_LONG, nullptr, &comm,
                            &chosen),
              MPI_SUCCESS);
    ASSERT_EQ(MPIX_RMA_Complete(&comm, next_), MPI_SUCCESS);
    EXPECT_EQ(class_of(rma_set_num_notify(comm, rank_ == size_ - 1 ? -1 : 100)), MPI_ERR_ARG);
    MPI_Count counted = -1;
    int num = -1;
    ASSERT_EQ(rma_get_notify_value(comm, round - 1, &counted), MPI_SUCCESS);
    ASSERT_EQ(rma_get_num_notify(comm, &num), MPI_SUCCESS);
    EXPECT_TRUE(counted == 1 && num == round) << counted << " " << num;
    MPI_Barrier(world);
  }
}

TEST_F(G, G_16_threads_share_a_plan) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Query_thread(&provided);
  if (provided != MPI_THREAD_MULTIPLE) GTEST_SKIP() << "MPI does not give MPI_THREAD_MULTIPLE";
  constexpr int threads = 3;
  constexpr int rounds = 400;
  fill(0);
  MPIX_RMA_Attributes const atomicity = attributes(MPIX_RMA_ATTR_ATOMICITY);
  MPIX_RMA_Plan add = MPIX_RMA_PLAN_NULL;
  ASSERT_EQ(MPIX_RMA_Plan_create(MPIX_RMA_ACCUMULATE, MPI_LONG, next_, MPI_LONG, world, &atomicity, &add),
            MPI_SUCCESS);
  std::atomic<int> failures{0};
  auto const work = [&] {
    long one = 1;
    for (int round = 0; round < rounds; ++round) {
      MPI_Request request = MPI_REQUEST_NULL;
      if (MPIX_RMA_Plan_issue(add, &one, 1, there(round % Memory::kinds), 1, &request) != MPI_SUCCESS ||
          MPI_Wait(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS)
        ++failures;
    }
  };
  std::vector<std::thread> running;
  for (int thread = 0; thread < threads; ++thread) running.emplace_back(work);
  for (auto& thread : running) thread.join();
  EXPECT_EQ(failures.load(), 0);
  EXPECT_EQ(MPIX_RMA_Plan_free(&add), MPI_SUCCESS);
  ASSERT_EQ(MPIX_RMA_Complete(&world, next_), MPI_SUCCESS);
  MPI_Barrier(world);
  long total = 0;
  for (int kind = 0; kind < Memory::kinds; ++kind) total += own<long>(kind);
  EXPECT_EQ(total, threads * rounds);
}

}  // namespace
}  // namespace mpixrma::test
