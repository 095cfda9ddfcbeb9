/// Children of a process in the middle of communication: helper programs, and copies of the program that exit
/// or even call the library.
#include <gtest/gtest.h>
#include <mpi.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "include/armci/armci.h"
#include "include/mpix_rma.h"
#include "tests/support/communicatable.hpp"

namespace {

int rank_of_world() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

/// Returns the exit status of a child that runs `body` and ends by exit(), as a program would.
int exit_status_of(std::function<int()> const& body) {
  std::fflush(nullptr);
  pid_t const child = ::fork();
  if (child == 0) std::exit(body());
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class ForkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    bases_.resize(static_cast<std::size_t>(size_));
    ASSERT_EQ(mpixrma::test::rma_allocate(1 << 16, MPI_INFO_NULL, world_, bases_.data()), MPI_SUCCESS);
    heap_.assign(1 << 13, 0);
    heaps_.resize(bases_.size());
    void* const mine = heap_.data();
    MPI_Allgather(&mine, sizeof mine, MPI_BYTE, heaps_.data(), sizeof mine, MPI_BYTE, world_);
  }
  void TearDown() override {
    mpixrma::test::rma_free(bases_[static_cast<std::size_t>(rank_of_world())], world_);
  }

  /// Every rank puts to the next one, into memory of both kinds, and checks the data of the previous one.
  void exchange(long value) {
    int const rank = rank_of_world();
    auto const next = static_cast<std::size_t>((rank + 1) % size_);
    long sent = value * 1000 + rank;
    for (void* const base : {bases_[next], heaps_[next]}) {
      ASSERT_EQ(MPIX_RMA_xfer(MPIX_RMA_PUT, &sent, 1, MPI_LONG, static_cast<int>(next), base, 1, MPI_LONG,
                              nullptr, &world_, nullptr),
                MPI_SUCCESS);
    }
    ASSERT_EQ(MPIX_RMA_Complete(&world_, MPIX_ALL_RANKS), MPI_SUCCESS);
    MPI_Barrier(world_);
    long const expected = value * 1000 + (rank + size_ - 1) % size_;
    EXPECT_EQ(*static_cast<long*>(bases_[static_cast<std::size_t>(rank)]), expected);
    EXPECT_EQ(heap_[0], expected);
    MPI_Barrier(world_);
  }

  MPI_Comm world_ = MPI_COMM_WORLD;
  int size_ = 0;
  std::vector<void*> bases_;
  std::vector<void*> heaps_;
  std::vector<long> heap_;
};

TEST_F(ForkTest, OperatesAfterHelperProgramsRan) {
  for (long round = 1; round <= 5; ++round) {
    exchange(round);
    EXPECT_EQ(std::system("exit 3"), 3 << 8);
    std::FILE* const pipe = ::popen("echo 17", "r");
    ASSERT_NE(pipe, nullptr);
    int number = 0;
    EXPECT_EQ(std::fscanf(pipe, "%d", &number), 1);
    EXPECT_EQ(number, 17);
    ::pclose(pipe);
  }
  exchange(99);
}

TEST_F(ForkTest, OperatesAfterForkedChildrenExited) {
  for (long round = 1; round <= 20; ++round) {
    exchange(round);
    EXPECT_EQ(exit_status_of([] { return 7; }), 7);
  }
  exchange(99);
}

TEST_F(ForkTest, LibraryCallsOfForkedChildFail) {
  exchange(1);
  auto const next = (rank_of_world() + 1) % size_;
  void* const there = bases_[static_cast<std::size_t>(next)];
  MPIX_RMA_Plan plan = MPIX_RMA_PLAN_NULL;
  ASSERT_EQ(MPIX_RMA_Plan_create(MPIX_RMA_PUT, MPI_LONG, next, MPI_LONG, world_, nullptr, &plan),
            MPI_SUCCESS);
  long value = 5;
  ASSERT_EQ(MPIX_RMA_Plan_issue(plan, &value, 1, there, 1, nullptr), MPI_SUCCESS);
  ASSERT_EQ(MPIX_RMA_Complete(&world_, MPIX_ALL_RANKS), MPI_SUCCESS);
  int const refused = exit_status_of([&] {
    long got = 0;
    void* more = nullptr;
    int count = 0;
    for (MPIX_RMA_Op const op : {MPIX_RMA_PUT, MPIX_RMA_GET, MPIX_RMA_ACCUMULATE}) {
      count += MPIX_RMA_xfer(op, &got, 1, MPI_LONG, next, there, 1, MPI_LONG, nullptr, &world_, nullptr) ==
               MPI_ERR_OTHER;
    }
    count += MPIX_RMA_rmw(MPIX_RMW_SUM, &value, 1, MPI_LONG, &got, next, reinterpret_cast<MPI_Aint>(there),
                          nullptr, &world_, nullptr) == MPI_ERR_OTHER;
    count += MPIX_RMA_Plan_issue(plan, &value, 1, there, 1, nullptr) == MPI_ERR_OTHER;
    count += MPIX_RMA_Complete(&world_, MPIX_ALL_RANKS) == MPI_ERR_OTHER;
    count += MPIX_RMA_Complete(&world_, next) == MPI_ERR_OTHER;
    count += MPIX_RMA_Fence(&world_, next) == MPI_ERR_OTHER;
    count += mpixrma::test::rma_allocate_local(100, MPI_INFO_NULL, &more) == MPI_ERR_OTHER;
    count += mpixrma::test::rma_register(&value, sizeof value) == MPI_ERR_OTHER;
    count += mpixrma::test::rma_free(bases_[0], world_) == MPI_ERR_OTHER;
    return count;
  });
  EXPECT_EQ(refused, 11);
  exchange(2);
  EXPECT_EQ(MPIX_RMA_Plan_issue(plan, &value, 1, there, 1, nullptr), MPI_SUCCESS);
  EXPECT_EQ(MPIX_RMA_Complete(&world_, MPIX_ALL_RANKS), MPI_SUCCESS);
  EXPECT_EQ(MPIX_RMA_Plan_free(&plan), MPI_SUCCESS);
  MPI_Barrier(world_);
}

TEST_F(ForkTest, ArmciCallsOfForkedChildFail) {
  ASSERT_EQ(ARMCI_Init(), 0);
  std::vector<void*> shared(static_cast<std::size_t>(size_));
  ASSERT_EQ(ARMCI_Malloc(shared.data(), 64), 0);
  int const next = (rank_of_world() + 1) % size_;
  void* const there = shared[static_cast<std::size_t>(next)];
  double value = 3.0;
  ASSERT_EQ(ARMCI_Put(&value, there, sizeof value, next), 0);
  int const refused = exit_status_of([&] {
    double scale = 1.0;
    int count = 0;
    count += ARMCI_Put(&value, there, sizeof value, next) != 0;
    count += ARMCI_Get(there, &value, sizeof value, next) != 0;
    count += ARMCI_Acc(ARMCI_ACC_DBL, &scale, &value, there, sizeof value, next) != 0;
    count += ARMCI_Malloc(shared.data(), 64) != 0;
    count += ARMCI_Init() != 0;
    return count;
  });
  EXPECT_EQ(refused, 5);
  // A call that cannot return an error ends the child, and nothing else.
  EXPECT_NE(exit_status_of([&] {
              ARMCI_Fence(next);
              return 0;
            }),
            0);
  ARMCI_Barrier();
  EXPECT_EQ(*static_cast<double*>(shared[static_cast<std::size_t>(rank_of_world())]), 3.0);
  EXPECT_EQ(ARMCI_Free(shared[static_cast<std::size_t>(rank_of_world())]), 0);
  ARMCI_Finalize();
}

}  // namespace
