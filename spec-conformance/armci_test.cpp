/// ARMCI 1.1 (A).
#include <gtest/gtest.h>
#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <complex>
#include <cstring>
#include <numeric>
#include <vector>

#include "spec-conformance/armci_support.hpp"

namespace conformance {
namespace {

TEST_F(Armci, A_01_operations_complete_without_action_of_the_target) {
  if (me_ == size_ - 1) {
    auto const* const value = reinterpret_cast<double volatile*>(mine());
    double const start = MPI_Wtime();
    while (size_ > 1 && *value != 1.5 && MPI_Wtime() - start < 30) {
    }
    if (size_ > 1) {
      EXPECT_EQ(*value, 1.5);
    }
  } else if (me_ == 0) {
    double one = 1;
    double value = 1.5;
    EXPECT_EQ(ARMCI_Acc(ARMCI_ACC_DBL, &one, &value, at(size_ - 1), 8, size_ - 1), 0);
    ARMCI_Fence(size_ - 1);
  }
  ARMCI_Barrier();
}

TEST_F(Armci, A_02_operations_to_one_process_are_ordered) {
  std::ptrdiff_t const part = 64 * me_;
  for (long round = 1; round <= 300; ++round) {
    long one = 1;
    long got = -1;
    ARMCI_Put(&round, at(0, part), sizeof round, 0);
    ARMCI_Acc(ARMCI_ACC_LNG, &one, &one, at(0, part), sizeof one, 0);
    ARMCI_Get(at(0, part), &got, sizeof got, 0);
    ASSERT_EQ(got, round + 1);
  }
}

TEST_F(Armci, A_04_message_passing_works_concurrently) {
  long value = 10 + me_;
  long passed = -1;
  ARMCI_Put(&value, at(next_), sizeof value, next_);
  MPI_Sendrecv(&value, 1, MPI_LONG, next_, 7, &passed, 1, MPI_LONG, before_, 7, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  ARMCI_Barrier();
  EXPECT_EQ(passed, 10 + before_);
  EXPECT_EQ(own<long>(), 10 + before_);
}

TEST_F(Armci, A_05_vectors_are_sets_of_equally_long_segments) {
  std::vector<long> values(20);
  std::iota(values.begin(), values.end(), 100 * me_);
  std::vector<void*> sources[2];
  std::vector<void*> targets[2];
  for (std::size_t i = 0; i < 10; ++i) {
    sources[i % 2].push_back(&values[2 * i]);
    targets[i % 2].push_back(at(next_, static_cast<std::ptrdiff_t>(48 * (9 - i))));
  }
  armci_giov_t sets[2];
  for (int s = 0; s < 2; ++s) sets[s] = {sources[s].data(), targets[s].data(), 16, 5};
  EXPECT_EQ(ARMCI_PutV(sets, 2, next_), 0);
  ARMCI_Barrier();
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(own<long>(48 * (9 - i)), 100 * before_ + 2 * i);
    EXPECT_EQ(own<long>(48 * (9 - i) + 8), 100 * before_ + 2 * i + 1);
  }
}

/// The document's example: 3 x 6 elements at (1, 2) of A[10][20] to (3, 4) of B[20][30].
TEST_F(Armci, A_06_strided_sections_move_between_arrays_of_different_shapes) {
  std::vector<double> a(10 * 20);
  std::iota(a.begin(), a.end(), 1000.0 * me_);
  int a_stride = 20 * sizeof(double);
  int b_stride = 30 * sizeof(double);
  int count[] = {6 * sizeof(double), 3};
  EXPECT_EQ(ARMCI_PutS(&a[1 * 20 + 2], &a_stride, at(next_, (3 * 30 + 4) * 8), &b_stride, count, 1, next_),
            0);
  ARMCI_Barrier();
  for (int i = 0; i < 20; ++i) {
    for (int j = 0; j < 30; ++j) {
      bool const inside = i >= 3 && i < 6 && j >= 4 && j < 10;
      double const expected = inside ? 1000.0 * before_ + (i - 2) * 20 + (j - 2) : 0;
      EXPECT_EQ(own<double>((i * 30 + j) * 8), expected) << i << " " << j;
    }
  }
  std::vector<double> back(10 * 20, 0);
  EXPECT_EQ(ARMCI_GetS(at(next_, (3 * 30 + 4) * 8), &b_stride, &back[1 * 20 + 2], &a_stride, count, 1, next_),
            0);
  EXPECT_EQ(back[3 * 20 + 7], a[3 * 20 + 7]);
}

TEST_F(Armci, A_07_no_stride_levels_make_a_contiguous_transfer) {
  std::vector<char> values(1000, static_cast<char>(me_ + 1));
  int count = 1000;
  EXPECT_EQ(ARMCI_PutS(values.data(), nullptr, at(next_), nullptr, &count, 0, next_), 0);
  ARMCI_Barrier();
  EXPECT_EQ(mine()[0], before_ + 1);
  EXPECT_EQ(mine()[999], before_ + 1);
  EXPECT_EQ(mine()[1000], 0);
}

TEST_F(Armci, A_08_put_writes_and_get_reads_the_remote_memory) {
  long value = 5 + me_;
  long got = -1;
  EXPECT_EQ(ARMCI_Put(&value, at(next_), sizeof value, next_), 0);
  EXPECT_EQ(ARMCI_Get(at(next_), &got, sizeof got, next_), 0);
  EXPECT_EQ(got, value);
  ARMCI_Barrier();
  EXPECT_EQ(own<long>(), 5 + before_);
}

TEST_F(Armci, A_09_nonblocking_calls_are_completed_by_their_handles) {
  constexpr int many = 40;
  std::vector<long> values(many);
  std::iota(values.begin(), values.end(), 7L);
  armci_hdl_t aggregate;
  ARMCI_INIT_HANDLE(&aggregate);
  ARMCI_SET_AGGREGATE_HANDLE(&aggregate);
  for (int i = 0; i < many; ++i)
    EXPECT_EQ(ARMCI_NbPut(&values[static_cast<std::size_t>(i)], at(next_, 8 * i), 8, next_, &aggregate), 0);
  ARMCI_UNSET_AGGREGATE_HANDLE(&aggregate);
  EXPECT_EQ(ARMCI_Wait(&aggregate), 0);
  std::fill(values.begin(), values.end(), -1);  // may be reused
  std::vector<long> got(many, -1);
  armci_hdl_t handle;
  ARMCI_INIT_HANDLE(&handle);
  EXPECT_EQ(ARMCI_NbGet(at(next_), got.data(), 8 * many, next_, &handle), 0);
  while (ARMCI_Test(&handle) != 0) {
  }
  EXPECT_EQ(got[many - 1], 7 + many - 1);
  std::fill(got.begin(), got.end(), -1);
  EXPECT_EQ(ARMCI_NbGet(at(next_), got.data(), 8 * many, next_, nullptr), 0);
  EXPECT_EQ(ARMCI_WaitProc(next_), 0);
  EXPECT_EQ(got[0], 7);
  EXPECT_EQ(ARMCI_WaitAll(), 0);
}

TEST_F(Armci, A_10_accumulate_adds_the_scaled_source_atomically) {
  accumulates<int>(ARMCI_ACC_INT);
  accumulates<long>(ARMCI_ACC_LNG);
  accumulates<float>(ARMCI_ACC_FLT);
  accumulates<double>(ARMCI_ACC_DBL);
  accumulates<std::complex<float>>(ARMCI_ACC_CPL);
  accumulates<std::complex<double>>(ARMCI_ACC_DCP);
  std::memset(mine(), 0, bytes);
  ARMCI_Barrier();
  std::vector<double> ones(3000, 1.0);
  double half = 0.5;
  for (int i = 0; i < 50; ++i) EXPECT_EQ(ARMCI_Acc(ARMCI_ACC_DBL, &half, ones.data(), at(0), 24000, 0), 0);
  ARMCI_Barrier();
  if (me_ == 0) {
    for (int i = 0; i < 3000; ++i) ASSERT_EQ(own<double>(8 * i), 25.0 * size_);
  }
}

TEST_F(Armci, A_11_fetch_and_add_of_ints_and_longs) {
  constexpr int rounds = 200;
  long sum = 0;
  for (int i = 0; i < rounds; ++i) {
    int as_int = -1;
    long as_long = -1;
    EXPECT_EQ(ARMCI_Rmw(ARMCI_FETCH_AND_ADD, &as_int, at(0), 2, 0), 0);
    EXPECT_EQ(ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &as_long, at(0, 8), 3, 0), 0);
    EXPECT_TRUE(as_int % 2 == 0 && as_long % 3 == 0);
    sum += as_long / 3;
  }
  ARMCI_Barrier();
  long all = 0;
  MPI_Reduce(&sum, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (me_ == 0) {
    long const n = static_cast<long>(rounds) * size_;
    EXPECT_EQ(own<int>(), 2 * n);
    EXPECT_EQ(own<long>(8), 3 * n);
    EXPECT_EQ(all, n * (n - 1) / 2);  // each value once
  }
}

TEST_F(Armci, A_12_swap_exchanges_ints_and_longs) {
  int as_int = 40 + me_;
  long as_long = 50 + me_;
  EXPECT_EQ(ARMCI_Rmw(ARMCI_SWAP, &as_int, at(next_), 0, next_), 0);
  EXPECT_EQ(ARMCI_Rmw(ARMCI_SWAP_LONG, &as_long, at(next_, 8), 0, next_), 0);
  EXPECT_TRUE(as_int == 0 && as_long == 0);
  ARMCI_Barrier();
  EXPECT_EQ(own<int>(), 40 + before_);
  EXPECT_EQ(own<long>(8), 50 + before_);
}

TEST_F(Armci, A_13_zero_is_success_and_other_values_failure) {
  long value = 1;
  EXPECT_EQ(ARMCI_Put(&value, at(next_), sizeof value, next_), 0);
  EXPECT_NE(ARMCI_Put(&value, at(next_), sizeof value, size_), 0);
  EXPECT_NE(ARMCI_Get(at(next_), &value, -1, next_), 0);
  EXPECT_NE(ARMCI_Rmw(99, &value, at(next_), 1, next_), 0);
  EXPECT_EQ(ARMCI_Put(&value, at(next_), sizeof value, next_), 0);
}

TEST_F(Armci, A_14_mutexes_exclude_each_other) {
  EXPECT_EQ(ARMCI_Create_mutexes(me_ == 0 ? 2 : 0), 0);
  for (int i = 0; i < 100; ++i) {
    int const mutex = i % 2;
    long value = -1;
    ARMCI_Lock(mutex, 0);
    ARMCI_Get(at(0, 64 * mutex), &value, sizeof value, 0);
    sched_yield();  // to a process that does not wait for the mutex
    ++value;
    ARMCI_Put(&value, at(0, 64 * mutex), sizeof value, 0);
    ARMCI_Unlock(mutex, 0);
  }
  ARMCI_Barrier();
  if (me_ == 0) {
    EXPECT_EQ(own<long>(0), 50 * size_);
    EXPECT_EQ(own<long>(64), 50 * size_);
  }
  EXPECT_EQ(ARMCI_Destroy_mutexes(), 0);
}

TEST_F(Armci, A_15_blocking_put_allows_reuse_of_its_source) {
  std::vector<double> values(8000, 2.5);
  EXPECT_EQ(ARMCI_Put(values.data(), at(next_), 64000, next_), 0);
  std::fill(values.begin(), values.end(), -1.0);
  ARMCI_Barrier();
  for (int i = 0; i < 8000; ++i) ASSERT_EQ(own<double>(8 * i), 2.5);
}

TEST_F(Armci, A_16_fence_completes_at_one_process) {
  std::vector<long> values(5000, 3 + me_);
  ARMCI_Put(values.data(), at(next_), 40000, next_);
  ARMCI_Fence(next_);
  MPI_Barrier(MPI_COMM_WORLD);  // completes nothing by itself
  EXPECT_EQ(own<long>(8 * 4999), 3 + before_);
}

TEST_F(Armci, A_17_allfence_completes_at_all) {
  long const value = 9 + me_;
  for (int process = 0; process < size_; ++process)
    ARMCI_Put(const_cast<long*>(&value), at(process, 8 * me_), sizeof value, process);
  ARMCI_AllFence();
  MPI_Barrier(MPI_COMM_WORLD);
  for (int process = 0; process < size_; ++process) EXPECT_EQ(own<long>(8 * process), 9 + process);
}

TEST_F(Armci, A_18_malloc_gives_every_process_all_addresses) {
  auto const index = [](int process) { return static_cast<std::size_t>(process); };
  std::vector<void*> bases(index(size_));
  EXPECT_EQ(ARMCI_Malloc(bases.data(), me_ % 2 == 0 ? 8 * size_ : 0), 0);
  for (int process = 0; process < size_; ++process) {
    EXPECT_EQ(bases[index(process)] == nullptr, process % 2 == 1);
    long value = 100 * process + me_;
    if (bases[index(process)] != nullptr) {
      EXPECT_EQ(ARMCI_Put(&value, static_cast<long*>(bases[index(process)]) + me_, 8, process), 0);
    }
  }
  ARMCI_Barrier();
  auto const* const own = static_cast<long*>(bases[index(me_)]);
  for (int process = 0; own != nullptr && process < size_; ++process)
    EXPECT_EQ(own[process], 100 * me_ + process);
  EXPECT_EQ(ARMCI_Free(bases[index(me_)]), 0);
}

TEST_F(Armci, A_19_freed_memory_is_inaccessible) {
  std::vector<void*> bases(static_cast<std::size_t>(size_));
  EXPECT_EQ(ARMCI_Malloc(bases.data(), 1 << 20), 0);
  EXPECT_EQ(ARMCI_Free(bases[static_cast<std::size_t>(me_)]), 0);
  long value = 0;
  EXPECT_NE(ARMCI_Get(bases[static_cast<std::size_t>(next_)], &value, sizeof value, next_), 0);
  ARMCI_Barrier();
}

TEST_F(Armci, A_20_initialisation_is_counted) {
  EXPECT_EQ(ARMCI_Initialized(), 1);
  EXPECT_EQ(ARMCI_Init(), 0);
  EXPECT_EQ(ARMCI_Finalize(), 0);  // the outer initialisation is still active
  EXPECT_EQ(ARMCI_Initialized(), 1);
  ARMCI_Cleanup();
}

}  // namespace
}  // namespace conformance
