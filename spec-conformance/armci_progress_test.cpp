/// ARMCI over MPI (P): progress, conflicts, and read-modify-writes among processes that do other things.
#include <gtest/gtest.h>
#include <mpi.h>

#include <ctime>
#include <numeric>
#include <vector>

#include "spec-conformance/armci_support.hpp"

namespace conformance {
namespace {

class ArmciProgress : public Armci {
 protected:
  /// Blocking operations of several kinds on the first 80 bytes of a process, and their completion there.
  void operate_on(int process) {
    long one = 1;
    long values[2] = {1, 1};
    long fetched = -1;
    int stride = 8;
    int wide = 16;
    int count[] = {8, 2};
    void* here[] = {&values[0], &values[1]};
    void* there[] = {at(process, 40), at(process, 72)};
    armci_giov_t set = {here, there, 8, 2};
    EXPECT_EQ(ARMCI_Acc(ARMCI_ACC_LNG, &one, &one, at(process), 8, process), 0);
    EXPECT_EQ(ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &fetched, at(process, 8), 1, process), 0);
    EXPECT_EQ(ARMCI_AccS(ARMCI_ACC_LNG, &one, values, &stride, at(process, 16), &wide, count, 1, process), 0);
    EXPECT_EQ(ARMCI_AccV(ARMCI_ACC_LNG, &one, &set, 1, process), 0);
    ARMCI_Lock(0, process);
    EXPECT_EQ(ARMCI_Get(at(process, 56), &fetched, 8, process), 0);
    ++fetched;
    EXPECT_EQ(ARMCI_Put(&fetched, at(process, 56), 8, process), 0);
    ARMCI_Unlock(0, process);
    ARMCI_Fence(process);
  }
  void expect_operations(int times) {
    for (std::ptrdiff_t const place : {0, 8, 16, 32, 40, 56, 72}) EXPECT_EQ(own<long>(place), times) << place;
  }
};

/// The last process sleeps in the operating system, and is in no library, while all others operate on it.
TEST_F(ArmciProgress, P_03_operations_progress_while_the_target_is_in_no_library) {
  ASSERT_EQ(ARMCI_Create_mutexes(1), 0);
  int const last = size_ - 1;
  if (me_ == last) {
    auto const* const finished = reinterpret_cast<long volatile*>(mine(256));
    timespec const pause{0, 2'000'000};
    for (double const start = MPI_Wtime(); *finished != last && MPI_Wtime() - start < 60;)
      nanosleep(&pause, nullptr);
    EXPECT_EQ(*finished, last);
    if (last > 0) expect_operations(20 * last);
  } else {
    for (int round = 0; round < 20; ++round) operate_on(last);
    long fetched = 0;
    EXPECT_EQ(ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &fetched, at(last, 256), 1, last), 0);
  }
  ARMCI_Barrier();
  EXPECT_EQ(ARMCI_Destroy_mutexes(), 0);
}

/// A token goes round: its holder operates on all processes while the others wait in MPI_Recv.
TEST_F(ArmciProgress, P_12_blocking_operations_mix_with_blocking_mpi_calls) {
  ASSERT_EQ(ARMCI_Create_mutexes(1), 0);
  constexpr int rounds = 5;
  for (int round = 0; round < rounds; ++round) {
    int token = round;
    if (me_ != 0) MPI_Recv(&token, 1, MPI_INT, me_ - 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT_EQ(token, round + me_);
    for (int process = 0; process < size_; ++process) operate_on(process);
    ++token;
    MPI_Request sent = MPI_REQUEST_NULL;
    MPI_Isend(&token, 1, MPI_INT, (me_ + 1) % size_, 5, MPI_COMM_WORLD, &sent);
    if (me_ == 0) {
      int last = -1;
      MPI_Recv(&last, 1, MPI_INT, size_ - 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      EXPECT_EQ(last, round + size_);
    }
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  expect_operations(rounds * size_);
  EXPECT_EQ(ARMCI_Destroy_mutexes(), 0);
}

/// All processes add, and every third round swap in 0: values swapped out and the rest are what was added.
template <typename T>
void adds_and_takes(char* word, int add, int swap) {
  constexpr int rounds = 600;
  long taken = 0;
  for (int round = 0; round < rounds; ++round) {
    T fetched = -1;
    ASSERT_EQ(ARMCI_Rmw(add, &fetched, word, 1, 0), 0);
    ASSERT_GE(fetched, 0);
    if (round % 3 != 0) continue;
    fetched = 0;
    ASSERT_EQ(ARMCI_Rmw(swap, &fetched, word, 0, 0), 0);
    taken += fetched;
  }
  long all = 0;
  MPI_Allreduce(&taken, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  T left = -1;
  ASSERT_EQ(ARMCI_Get(word, &left, sizeof left, 0), 0);
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  EXPECT_EQ(all + left, 1L * rounds * size);
}

TEST_F(Armci, P_06_swaps_and_fetch_and_adds_are_atomic_with_each_other) {
  adds_and_takes<int>(at(0), ARMCI_FETCH_AND_ADD, ARMCI_SWAP);
  adds_and_takes<long>(at(0, 64), ARMCI_FETCH_AND_ADD_LONG, ARMCI_SWAP_LONG);
}

/// Ranges that overlap in part, from all processes at once: no operation fails, every element is one that was
/// put, and the memory around is untouched.
TEST_F(Armci, P_14_conflicting_accesses_of_several_processes_are_no_errors) {
  constexpr int rounds = 200;
  constexpr int longs = 300;
  for (int round = 0; round < rounds; ++round) {
    std::vector<long> values(longs, 1 + me_);
    std::vector<long> got(longs, -1);
    std::ptrdiff_t const begin = 8 * (round * 37 % 500);
    ASSERT_EQ(ARMCI_Put(values.data(), at(0, 64 + begin), 8 * longs, 0), 0);
    ASSERT_EQ(ARMCI_Get(at(0, 64 + begin), got.data(), 8 * longs, 0), 0);
    for (long const value : got) ASSERT_TRUE(value >= 1 && value <= size_) << value;
  }
  ARMCI_Barrier();
  if (me_ == 0) {
    EXPECT_EQ(own<long>(56), 0);
    EXPECT_EQ(own<long>(64 + 8 * (499 + longs)), 0);
  }
  // Accumulates of all processes to ranges that overlap in part, for long enough to meet each other.
  constexpr int repetitions = 3000;
  std::memset(mine(), 0, bytes);
  ARMCI_Barrier();
  long one = 1;
  std::vector<long> ones(longs, 1);
  for (int i = 0; i < 20 * repetitions; ++i)
    ASSERT_EQ(ARMCI_Acc(ARMCI_ACC_LNG, &one, ones.data(), at(0, 8 * 10 * (i % 20)), 8 * longs, 0), 0);
  ARMCI_Barrier();
  if (me_ == 0) {
    for (int k = 0; k < longs + 200; ++k) {
      int covering = 0;
      for (int i = 0; i < 20; ++i) covering += k >= 10 * i && k < 10 * i + longs ? 1 : 0;
      ASSERT_EQ(own<long>(8 * k), covering * repetitions * size_) << k;
    }
  }
}

TEST_F(Armci, P_16_messages_and_barriers_synchronise_processes) {
  if (size_ < 2) GTEST_SKIP() << "two processes are needed";
  for (long round = 1; round <= 50; ++round) {
    std::vector<long> values(500, round);
    long told = -1;
    int length = 0;
    if (me_ == 0) {
      ARMCI_Put(values.data(), at(1), 4000, 1);
      ARMCI_Fence(1);
      armci_msg_snd(11, &round, sizeof round, 1);
    }
    if (me_ == 1) {
      armci_msg_rcv(11, &told, sizeof told, &length, 0);
      EXPECT_EQ(told, round);
      EXPECT_EQ(length, 8);
      EXPECT_EQ(own<long>(), round);
      EXPECT_EQ(own<long>(8 * 499), round);
    }
    armci_msg_barrier();
  }
}

}  // namespace
}  // namespace conformance
