/// ARMCI at MPI_THREAD_MULTIPLE: four threads of each process call ARMCI at the same time.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <barrier>
#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

#include "include/armci/armci.h"
#include "include/armci/armcix.h"
#include "tests/support/armci_memory.hpp"

namespace {

using mpixrma::test::me;
using mpixrma::test::Remote;
using mpixrma::test::size;

constexpr int threads = 4;

/// Runs `body(thread)` in all threads at once.
template <typename Body>
void in_threads(Body body) {
  std::barrier begin(threads);
  std::vector<std::thread> running;
  for (int thread = 0; thread < threads; ++thread) {
    running.emplace_back([&, thread] {
      begin.arrive_and_wait();
      body(thread);
    });
  }
  for (auto& one : running) one.join();
}

template <typename T>
T at(char const* address) {
  T value;
  std::memcpy(&value, address, sizeof value);
  return value;
}

TEST(Threads, HaveTheLevelThatWasRequested) {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  EXPECT_EQ(level, MPI_THREAD_MULTIPLE);
}

/// Threads share a handle, as in Global Arrays, whose tables of handles have no lock.
TEST(Threads, WaitForTheOperationsOfOneHandle) {
  constexpr int rounds = 200;
  constexpr int longs = 2000;
  Remote remote(longs * 8);
  int const next = (me() + 1) % size();
  for (int round = 1; round <= rounds; ++round) {
    std::vector<long> values(longs, round);
    std::vector<long> got(longs, -1);
    armci_hdl_t handle;
    ARMCI_INIT_HANDLE(&handle);
    ASSERT_EQ(ARMCI_NbPut(values.data(), remote.at(next), longs * 8, next, &handle), 0);
    ASSERT_EQ(ARMCI_NbGet(remote.at(next), got.data(), longs * 8, next, &handle), 0);
    in_threads([&](int thread) {
      if (thread == 0) {
        while (ARMCI_Test(&handle) != 0) {
        }
      } else {
        EXPECT_EQ(ARMCI_Wait(&handle), 0);
      }
      EXPECT_EQ(got.back(), round);
    });
  }
}

/// Each thread has a part of every process's memory, which nobody else uses.
TEST(Threads, ObserveTheirOwnPutsInOrder) {
  constexpr int rounds = 300;
  constexpr int longs = 700;
  constexpr int part = longs * 8;
  Remote remote(static_cast<armci_size_t>(part) * threads * size());
  in_threads([&](int thread) {
    std::vector<long> values(longs);
    std::vector<long> got(longs);
    for (int round = 0; round < rounds; ++round) {
      int const process = (me() + round) % size();
      char* const place = remote.at(process, part * (threads * me() + thread));
      int const count = round % 3 == 0 ? 1 : longs;
      std::iota(values.begin(), values.end(), 1000000L * me() + 100000L * thread + round);
      long const patch = -round;
      ASSERT_EQ(ARMCI_Put(values.data(), place, 8 * count, process), 0);
      ASSERT_EQ(ARMCI_Put(const_cast<long*>(&patch), place, 8, process), 0);
      ASSERT_EQ(ARMCI_Get(place, got.data(), 8 * count, process), 0);
      values[0] = patch;
      for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) ASSERT_EQ(got[i], values[i]);
    }
  });
}

TEST(Threads, AccumulateAndIncrementAtomically) {
  constexpr int rounds = 400;
  constexpr int doubles = 900;
  Remote remote(8 * doubles + 64);
  in_threads([&](int thread) {
    std::vector<double> values(doubles, 1.0 + thread);
    double half = 0.5;
    long one = 1;
    for (int round = 0; round < rounds; ++round) {
      int const process = (me() + round) % size();
      long before = -1;
      ASSERT_EQ(ARMCI_Acc(ARMCI_ACC_DBL, &half, values.data(), remote.at(process, 64), 8 * doubles, process),
                0);
      ASSERT_EQ(ARMCI_Acc(ARMCI_ACC_LNG, &one, &one, remote.at(process), 8, process), 0);
      ASSERT_EQ(ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &before, remote.at(process), 1, process), 0);
      ASSERT_EQ(ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &before, remote.at(0, 8), 1, 0), 0);
      ASSERT_GE(before, 0);
    }
  });
  ARMCI_Barrier();
  // Each thread has visited this process once in every `size()` rounds, beginning with its own process.
  int visits = 0;
  for (int origin = 0; origin < size(); ++origin) {
    for (int round = 0; round < rounds; ++round) visits += (origin + round) % size() == me() ? 1 : 0;
  }
  EXPECT_EQ(at<long>(remote.mine()), 2L * visits * threads);
  if (me() == 0) {
    EXPECT_EQ(at<long>(remote.mine() + 8), 1L * rounds * threads * size());
  }
  double const sum = 0.5 * (1 + 2 + 3 + 4) * visits;
  for (int i = 0; i < doubles; ++i) ASSERT_EQ(at<double>(remote.mine() + 64 + 8 * i), sum) << i;
  ARMCI_Barrier();
}

/// Every fetched value is different, whichever threads fetch.
TEST(Threads, FetchEachValueOfACounterOnce) {
  constexpr int rounds = 500;
  Remote remote(64);
  std::vector<int> fetched(rounds * threads, -1);
  in_threads([&](int thread) {
    for (int round = 0; round < rounds; ++round)
      ARMCI_Rmw(ARMCI_FETCH_AND_ADD, &fetched[static_cast<std::size_t>(thread * rounds + round)],
                remote.at(0), 1, 0);
  });
  int const count = static_cast<int>(fetched.size());
  std::vector<int> all(fetched.size() * static_cast<std::size_t>(size()));
  MPI_Allgather(fetched.data(), count, MPI_INT, all.data(), count, MPI_INT, MPI_COMM_WORLD);
  std::sort(all.begin(), all.end());
  for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], static_cast<int>(i));
}

/// Threads of one process exclude each other as well: otherwise get, change and put would lose updates.
TEST(Threads, ExcludeEachOtherByMutexes) {
  constexpr int rounds = 150;
  ASSERT_EQ(ARMCI_Create_mutexes(2), 0);
  {
    Remote remote(128);
    in_threads([&](int) {
      for (int round = 0; round < rounds; ++round) {
        int const owner = round % size();
        int const mutex = round % 2;
        long value = -1;
        ARMCI_Lock(mutex, owner);
        ARMCI_Get(remote.at(owner, 64 * mutex), &value, sizeof value, owner);
        ++value;
        std::this_thread::yield();  // to a thread that waits for the mutex
        ARMCI_Put(&value, remote.at(owner, 64 * mutex), sizeof value, owner);
        ARMCI_Unlock(mutex, owner);
      }
    });
    ARMCI_Barrier();
    for (int mutex = 0; mutex < 2; ++mutex) {
      long expected = 0;
      for (int round = 0; round < rounds; ++round)
        expected += round % size() == me() && round % 2 == mutex ? threads * size() : 0;
      EXPECT_EQ(at<long>(remote.mine() + 64 * mutex), expected);
    }
  }
  EXPECT_EQ(ARMCI_Destroy_mutexes(), 0);
}

TEST(Threads, CannotLockMutexOfAnotherThread) {
  ARMCI_Group world;
  ARMCI_Group_get_world(&world);
  armcix_mutex_hdl_t const set = ARMCIX_Create_mutexes_hdl(1, &world);
  ARMCIX_Lock_hdl(set, 0, me());
  int taken = -1;
  std::thread([&] { taken = ARMCIX_Trylock_hdl(set, 0, me()); }).join();
  EXPECT_EQ(taken, 1);
  ARMCIX_Unlock_hdl(set, 0, me());
  std::thread([&] {
    taken = ARMCIX_Trylock_hdl(set, 0, me());
    if (taken == 0) ARMCIX_Unlock_hdl(set, 0, me());
  }).join();
  EXPECT_EQ(taken, 0);
  EXPECT_EQ(ARMCIX_Destroy_mutexes_hdl(set), 0);
}

/// Each thread has its own handle, or uses implicit operations. It puts sections, and gets them as one block.
TEST(Threads, CompleteTheirHandles) {
  constexpr int rounds = 400;
  constexpr int ints = 500;
  constexpr int part = ints * 4;
  Remote remote(static_cast<armci_size_t>(part) * threads * size());
  in_threads([&](int thread) {
    std::vector<int> values(ints);
    std::vector<int> got(ints);
    for (int round = 0; round < rounds; ++round) {
      int const process = (me() + round) % size();
      char* const place = remote.at(process, part * (threads * me() + thread));
      int request = 0;
      std::iota(values.begin(), values.end(), 10000 * thread + 100 * me() + round);
      int stride = 20;
      int count[] = {20, ints / 5};
      ASSERT_EQ(ARMCI_NbPutS(values.data(), &stride, place, &stride, count, 1, process, &request), 0);
      ASSERT_EQ(ARMCI_Wait(&request), 0);
      if (round % 2 == 0) {
        ASSERT_EQ(ARMCI_NbGet(place, got.data(), part, process, &request), 0);
        while (ARMCI_Test(&request) != 0) {
        }
      } else {
        ASSERT_EQ(ARMCI_NbGet(place, got.data(), part, process, nullptr), 0);
        ASSERT_EQ(round % 4 == 1 ? ARMCI_WaitAll() : ARMCI_WaitProc(process), 0);
      }
      ASSERT_EQ(got, values);
    }
  });
}

}  // namespace
