/// Calls that do not wait for the target: they return while its process is stopped, with all of its threads.
#include <unistd.h>

#include <vector>

#include "spec-conformance/support.hpp"
#include "tests/support/stopped.hpp"

namespace mpixrma::test {
namespace {

class StoppedTarget : public Clause {
 protected:
  static constexpr int count = 1000;

  void SetUp() override {
    if (size_ < 2) GTEST_SKIP() << "two ranks are needed";
    fill(0);
    pids_.resize(static_cast<std::size_t>(size_));
    pid_t const own_pid = ::getpid();
    MPI_Allgather(&own_pid, sizeof own_pid, MPI_BYTE, pids_.data(), sizeof own_pid, MPI_BYTE, world);
    // Afterwards rank 0 has all connections that it will need, and the target's agent has nothing left to do.
    if (rank_ == 0) put_to_all_kinds(-1);
    MPIX_RMA_Complete(&world, MPIX_ALL_RANKS);
    MPI_Barrier(world);
  }

  int target() const { return size_ - 1; }
  pid_t pid() const { return pids_[static_cast<std::size_t>(target())]; }
  void put_to_all_kinds(long value) {
    values_.assign(count, value);
    for (int kind = 0; kind < Memory::kinds; ++kind)
      EXPECT_EQ(transfer(MPIX_RMA_PUT, values_.data(), count, MPI_LONG, target(), memory_.at(target(), kind)),
                MPI_SUCCESS);
  }
  void expect_everywhere(long value) {
    for (int kind = 0; kind < Memory::kinds; ++kind)
      EXPECT_EQ(own<long>(kind, 8 * (count - 1)), value) << "kind " << kind;
  }

  std::vector<pid_t> pids_;
  std::vector<long> values_;
};

TEST_F(StoppedTarget, X51_04_calls_return_before_the_target_does_anything) {
  if (rank_ == 0) {
    StoppedProcess stopped(pid());
    put_to_all_kinds(7);
    std::vector<long> fetched(count);
    // The accumulates update what no put writes, because nothing orders them.
    long const one = 1;
    for (int kind = 0; kind < Memory::kinds; ++kind) {
      EXPECT_EQ(transfer(MPIX_RMA_GET, fetched.data(), count, MPI_LONG, target(), memory_.at(target(), kind)),
                MPI_SUCCESS);
      EXPECT_EQ(transfer(MPIX_RMA_ACCUMULATE, const_cast<long*>(&one), 1, MPI_LONG, target(),
                         memory_.at(target(), kind, 8 * count)),
                MPI_SUCCESS);
    }
    stopped.continue_now();
    EXPECT_TRUE(stopped.was_stopped_until_then()) << "a call has waited for the target";
    EXPECT_EQ(MPIX_RMA_Complete(&world, target()), MPI_SUCCESS);
  }
  MPI_Barrier(world);
  if (rank_ == target()) {
    expect_everywhere(7);
    for (int kind = 0; kind < Memory::kinds; ++kind)
      EXPECT_EQ(own<long>(kind, 8 * count), 1) << "kind " << kind;
  }
  MPI_Barrier(world);
}

TEST_F(StoppedTarget, X52_05_fence_returns_before_earlier_operations_complete) {
  for (int const rank : {target(), int{MPIX_ALL_RANKS}}) {
    if (rank_ == 0) {
      StoppedProcess stopped(pid());
      put_to_all_kinds(rank);
      EXPECT_EQ(MPIX_RMA_Fence(&world, rank), MPI_SUCCESS);
      stopped.continue_now();
      EXPECT_TRUE(stopped.was_stopped_until_then()) << "the fence has waited for the target";
      EXPECT_EQ(MPIX_RMA_Complete(&world, target()), MPI_SUCCESS);
    }
    MPI_Barrier(world);
    if (rank_ == target()) expect_everywhere(rank);
    MPI_Barrier(world);
  }
}

}  // namespace
}  // namespace mpixrma::test
