/// Behaviour that the document leaves open: the life of notification counters, plans, threads.
#include <sched.h>

#include <atomic>
#include <iterator>
#include <thread>

#include "spec-conformance/support.hpp"

namespace mpixrma::test {
namespace {

bool has_thread_multiple() {
  int provided = MPI_THREAD_SINGLE;
  MPI_Query_thread(&provided);
  return provided == MPI_THREAD_MULTIPLE;
}

/// An operation that is complete only when it is remotely complete.
struct RemotelyComplete {
  char const* name;
  int op;  ///< of MPIX_RMA_xfer; 0: an rmw with a result
  std::uint64_t attributes;
};

constexpr RemotelyComplete remotely_complete[] = {
    {"put", MPIX_RMA_PUT, blocking_remote},
    {"accumulate", MPIX_RMA_ACCUMULATE, blocking_remote},
    {"get", MPIX_RMA_GET, MPIX_RMA_ATTR_BLOCKING},
    {"atomic put", MPIX_RMA_PUT, MPIX_RMA_ATTR_BLOCKING | MPIX_RMA_ATTR_ATOMICITY},
    {"rmw with a result", 0, MPIX_RMA_ATTR_BLOCKING}};

/// Only the completion of the operation orders the notification before the flag, for whose change the target
/// waits by loads: nothing else makes the target execute messages.
TEST_F(G, G_13_remote_completion_includes_the_notification) {
  constexpr int rounds = 10;
  Duplicate comm;
  ASSERT_EQ(rma_set_num_notify(comm, 1), MPI_SUCCESS);
  std::vector<long> values(2000, 1);
  std::vector<long> results(2000);
  MPI_Count expected = 0;
  constexpr MPI_Aint flag_offset = bytes - 8;
  auto* const flag = reinterpret_cast<long volatile*>(memory_.own(Memory::allocated) + flag_offset);
  *flag = 0;
  MPI_Barrier(world);
  MPIX_RMA_Attributes const blocking = attributes(blocking_remote);
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    for (int round = 0; round < rounds * static_cast<int>(std::size(remotely_complete)); ++round) {
      RemotelyComplete const& operation = remotely_complete[round / rounds];
      MPIX_RMA_Attributes chosen = attributes(MPIX_RMA_ATTR_NOTIFY | operation.attributes);
      chosen.notify_index = 0;
      int const count = round % 2 == 0 ? 1 : static_cast<int>(values.size());
      ASSERT_EQ(operation.op == 0
                    ? MPIX_RMA_rmw(MPIX_RMW_SUM, values.data(), count, MPI_LONG, results.data(), next_,
                                   address_of(there(kind)), nullptr, &comm, &chosen)
                    : MPIX_RMA_xfer(static_cast<MPIX_RMA_Op>(operation.op),
                                    operation.op == MPIX_RMA_GET ? results.data() : values.data(), count,
                                    MPI_LONG, next_, there(kind), count, MPI_LONG, nullptr, &comm, &chosen),
                MPI_SUCCESS);
      long const announced = static_cast<long>(expected) + 1;
      ASSERT_EQ(MPIX_RMA_xfer(MPIX_RMA_PUT, const_cast<long*>(&announced), 1, MPI_LONG, next_,
                              there(Memory::allocated, flag_offset), 1, MPI_LONG, nullptr, &world, &blocking),
                MPI_SUCCESS);
      while (*flag != announced) ::sched_yield();
      MPI_Count value = -1;
      ASSERT_EQ(rma_get_notify_value(comm, 0, &value), MPI_SUCCESS);
      ASSERT_EQ(value, ++expected) << operation.name << ", kind " << kind << " round " << round;
      MPI_Barrier(world);
    }
  }
}

/// A failed call leaves the counters unchanged; after a successful one, the counters of all ranks are zero.
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

TEST_F(G, G_14_plan_issues_the_call_with_its_arguments) {
  ErrorsReturn const returned(world);
  fill(0);
  MPI_Datatype strided = MPI_DATATYPE_NULL;
  MPI_Type_vector(4, 1, 2, MPI_INT, &strided);
  MPI_Type_commit(&strided);
  MPIX_RMA_Plan put = MPIX_RMA_PLAN_NULL;
  MPIX_RMA_Plan get = MPIX_RMA_PLAN_NULL;
  MPIX_RMA_Plan add = MPIX_RMA_PLAN_NULL;
  int scale = 10;
  MPIX_RMA_Attributes chosen = attributes(blocking_remote | MPIX_RMA_ATTR_ACCUMULATE_SCALE);
  chosen.accumulate_scale = &scale;
  ASSERT_EQ(MPIX_RMA_Plan_create(MPIX_RMA_PUT, MPI_INT, next_, MPI_INT, world, nullptr, &put), MPI_SUCCESS);
  ASSERT_EQ(MPIX_RMA_Plan_create(MPIX_RMA_GET, MPI_INT, next_, strided, world, nullptr, &get), MPI_SUCCESS);
  ASSERT_EQ(MPIX_RMA_Plan_create(MPIX_RMA_ACCUMULATE, MPI_INT, next_, MPI_INT, world, &chosen, &add),
            MPI_SUCCESS);
  MPI_Type_free(&strided);
  scale = 0;  // copied
  std::vector<int> values(64);
  std::iota(values.begin(), values.end(), 1);
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    ASSERT_EQ(MPIX_RMA_Plan_issue(put, values.data(), 64, there(kind), 64, nullptr), MPI_SUCCESS);
    ASSERT_EQ(MPIX_RMA_Complete(&world, next_), MPI_SUCCESS);
    ASSERT_EQ(MPIX_RMA_Plan_issue(add, values.data(), 2, there(kind), 2, nullptr), MPI_SUCCESS);
    int got[4] = {};
    MPI_Request request = MPI_REQUEST_NULL;
    ASSERT_EQ(MPIX_RMA_Plan_issue(get, got, 4, there(kind), 1, &request), MPI_SUCCESS);
    ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_TRUE(got[0] == 11 && got[1] == 3 && got[2] == 5 && got[3] == 7) << got[0] << " " << got[3];
    MPI_Barrier(world);
    EXPECT_EQ(own<int>(kind, 4), 22);
  }
  EXPECT_EQ(class_of(MPIX_RMA_Plan_issue(put, values.data(), -1, there(0), -1, nullptr)), MPI_ERR_COUNT);
  EXPECT_EQ(class_of(MPIX_RMA_Plan_issue(put, values.data(), 2, there(0), 1, nullptr)), MPI_ERR_TYPE);
  EXPECT_EQ(class_of(MPIX_RMA_Plan_issue(MPIX_RMA_PLAN_NULL, values.data(), 1, there(0), 1, nullptr)),
            MPI_ERR_ARG);
  EXPECT_EQ(class_of(MPIX_RMA_Plan_create(MPIX_RMA_PUT, MPI_INT, size_, MPI_INT, world, nullptr, &put)),
            MPI_ERR_RANK);
  for (MPIX_RMA_Plan* const bound : {&put, &get, &add}) {
    EXPECT_EQ(MPIX_RMA_Plan_free(bound), MPI_SUCCESS);
    EXPECT_EQ(*bound, MPIX_RMA_PLAN_NULL);
    EXPECT_EQ(class_of(MPIX_RMA_Plan_free(bound)), MPI_ERR_ARG);
  }
}

TEST_F(G, G_16_threads_issue_and_complete_at_once) {
  if (!has_thread_multiple()) GTEST_SKIP() << "MPI does not give MPI_THREAD_MULTIPLE";
  constexpr int threads = 3;
  constexpr int rounds = 400;
  fill(0);
  std::atomic<int> failures{0};
  auto const work = [&](int thread) {
    for (int round = 0; round < rounds; ++round) {
      int const kind = (round + thread) % Memory::kinds;
      int const target = (rank_ + round) % size_;
      double one = 1;
      std::uint64_t const set = MPIX_RMA_ATTR_ATOMICITY | (round % 2 == 0 ? MPIX_RMA_ATTR_BLOCKING : 0);
      if (transfer(MPIX_RMA_ACCUMULATE, &one, 1, MPI_DOUBLE, target, memory_.at(target, kind), set) !=
          MPI_SUCCESS)
        ++failures;
      long const mark = round;
      long got = -1;
      // A separate location per origin and thread.
      char* const place = memory_.at(target, kind, 1024 + 8 * (threads * rank_ + thread));
      if (transfer(MPIX_RMA_PUT, const_cast<long*>(&mark), 1, MPI_LONG, target, place) != MPI_SUCCESS)
        ++failures;
      if (MPIX_RMA_Complete(&world, target) != MPI_SUCCESS) ++failures;
      if (transfer(MPIX_RMA_GET, &got, 1, MPI_LONG, target, place, MPIX_RMA_ATTR_BLOCKING) != MPI_SUCCESS)
        ++failures;
      if (got != mark) ++failures;
    }
  };
  std::vector<std::thread> running;
  for (int thread = 0; thread < threads; ++thread) running.emplace_back(work, thread);
  for (auto& thread : running) thread.join();
  EXPECT_EQ(failures.load(), 0);
  ASSERT_EQ(MPIX_RMA_Complete(&world, MPIX_ALL_RANKS), MPI_SUCCESS);
  MPI_Barrier(world);
  double total = 0;
  for (int kind = 0; kind < Memory::kinds; ++kind) total += own<double>(kind);
  double all = 0;
  MPI_Allreduce(&total, &all, 1, MPI_DOUBLE, MPI_SUM, world);
  EXPECT_EQ(all, static_cast<double>(threads) * rounds * size_);
}

TEST_F(G, G_16_threads_share_a_plan) {
  if (!has_thread_multiple()) GTEST_SKIP() << "MPI does not give MPI_THREAD_MULTIPLE";
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
