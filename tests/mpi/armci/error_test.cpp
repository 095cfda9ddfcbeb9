/// ARMCI: state after operations that fail, with each way to wait for them.
#include <gtest/gtest.h>
#include <malloc.h>
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "include/armci/armci.h"
#include "include/armci/armcix.h"
#include "tests/support/armci_memory.hpp"

namespace {

using mpixrma::test::me;
using mpixrma::test::nowhere;
using mpixrma::test::Remote;
using mpixrma::test::size;

constexpr int bytes = 1 << 20;

/// Fixture: memory of the next process, and a buffer for its contents.
struct Errors : testing::Test {
  Errors() {
    std::fill_n(remote.mine(), bytes, static_cast<char>(me() + 1));
    ARMCI_Barrier();
  }
  int get(armci_hdl_t* handle) { return ARMCI_NbGet(remote.at(next), in.data(), bytes, next, handle); }
  /// Issues a get that fails in the call or later, depending on the protocol.
  void get_from_nowhere(int process, armci_hdl_t* handle) {
    (void)ARMCI_NbGet(nowhere, &value, sizeof value, process, handle);
  }
  void expect_data() const { EXPECT_EQ(in, std::vector<char>(bytes, static_cast<char>(next + 1))); }

  int next = (me() + 1) % size();
  Remote remote{bytes};
  std::vector<char> in = std::vector<char>(bytes);
  long value = 0;
};

TEST_F(Errors, HandlesNeedNoInitialisationButZeros) {
  for (int round = 0; round < 20; ++round) {
    in.assign(bytes, 0);
    armci_hdl_t handle{};
    ASSERT_EQ(get(&handle), 0);
    EXPECT_EQ(ARMCI_Wait(&handle), 0);
    expect_data();
  }
}

TEST_F(Errors, InvalidHandlesHaveNoPendingOperation) {
  for (int const wrong : {-1, -1000000, 1000000, 1 << 30, -2147483647 - 1}) {
    in.assign(bytes, 0);
    armci_hdl_t handle{wrong, wrong};
    EXPECT_EQ(ARMCI_Wait(&handle), 0);
    handle.target = wrong;
    EXPECT_EQ(ARMCI_Test(&handle), 0);
    handle.target = wrong;
    ASSERT_EQ(get(&handle), 0);
    EXPECT_EQ(ARMCI_Wait(&handle), 0);
    expect_data();
  }
}

TEST_F(Errors, WaitingForAllDoesNotStopAtAFailure) {
  for (int round = 0; round < 20; ++round) {
    in.assign(bytes, 0);
    armci_hdl_t handle{};
    get_from_nowhere(me(), nullptr);
    get_from_nowhere(next, nullptr);
    ASSERT_EQ(get(&handle), 0);
    EXPECT_NE(ARMCI_WaitAll(), 0);
    expect_data();
    EXPECT_EQ(ARMCI_WaitAll(), 0);
    EXPECT_EQ(ARMCI_Wait(&handle), 0);
  }
}

TEST_F(Errors, WaitForAggregateContinuesAfterFailure) {
  armci_hdl_t handle;
  ARMCI_INIT_HANDLE(&handle);
  ARMCI_SET_AGGREGATE_HANDLE(&handle);
  get_from_nowhere(next, &handle);
  ASSERT_EQ(get(&handle), 0);
  EXPECT_NE(ARMCI_Wait(&handle), 0);
  expect_data();
  EXPECT_EQ(ARMCI_Wait(&handle), 0);
}

/// ARMCI_WaitAll completes the operations of handles whose addresses it does not know.
TEST_F(Errors, WaitForAllReleasesHandles) {
  std::vector<char> source(64, static_cast<char>(me() + 1));
  std::vector<char*> all(static_cast<std::size_t>(size()));
  char* const mine = source.data();
  MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, MPI_COMM_WORLD);
  char* const from = all[static_cast<std::size_t>(next)];
  auto const get_often = [&](int times) {
    for (int i = 0; i < times; ++i) {
      armci_hdl_t handle;
      ARMCI_INIT_HANDLE(&handle);
      ASSERT_EQ(ARMCI_NbGet(from, in.data(), 64, next, &handle), 0);
      ASSERT_EQ(ARMCI_WaitAll(), 0);
    }
  };
  get_often(500);
  std::size_t const before = ::mallinfo2().uordblks;
  get_often(4000);
  EXPECT_LT(::mallinfo2().uordblks, before + (std::size_t{1} << 16));
  EXPECT_EQ(in[63], static_cast<char>(next + 1));
  ARMCI_Barrier();
}

/// A handle that ARMCI_WaitAll has completed does not refer to later operations of other handles.
TEST_F(Errors, CompletedHandleDoesNotReferToLaterOperations) {
  armci_hdl_t first{};
  armci_hdl_t second{};
  ASSERT_EQ(get(&first), 0);
  ASSERT_EQ(ARMCI_WaitAll(), 0);
  get_from_nowhere(next, &second);
  EXPECT_EQ(ARMCI_Wait(&first), 0);
  EXPECT_EQ(ARMCI_Test(&first), 0);
  EXPECT_NE(ARMCI_Wait(&second), 0);
  in.assign(bytes, 0);
  ASSERT_EQ(get(&first), 0);
  EXPECT_EQ(ARMCI_Wait(&first), 0);
  expect_data();
}

int tested(armci_hdl_t* handle) {
  int code = ARMCI_Test(handle);
  while (code == 1) code = ARMCI_Test(handle);
  return code;
}

TEST_F(Errors, TestDistinguishesFailureFromIncompleteness) {
  armci_hdl_t handle{};
  get_from_nowhere(next, &handle);
  EXPECT_EQ(tested(&handle), 2);
  EXPECT_EQ(tested(&handle), 0);
}

TEST_F(Errors, TestOfNullHandleCoversImplicitOperations) {
  EXPECT_EQ(ARMCI_Test(nullptr), 0);
  for (int round = 0; round < 20; ++round) {
    in.assign(bytes, 0);
    ASSERT_EQ(get(nullptr), 0);
    EXPECT_EQ(tested(nullptr), 0);
    expect_data();
  }
  get_from_nowhere(next, nullptr);
  EXPECT_EQ(tested(nullptr), 2);
  EXPECT_EQ(tested(nullptr), 0);
}

TEST_F(Errors, FlagImpliesTheData) {
  auto* const flag = reinterpret_cast<int*>(remote.at(next));
  int count[2] = {8, 1};
  int stride = 8;
  ARMCI_PutValueInt(0, flag, next);
  EXPECT_NE(ARMCI_Put_flag(nullptr, remote.at(next, 64), 8, flag, 5, next), 0);
  EXPECT_NE(ARMCI_Put_flag(&value, nowhere, 8, flag, 5, next), 0);
  EXPECT_NE(ARMCI_PutS_flag(&value, &stride, remote.at(next, 64), nullptr, count, 1, flag, 5, next), 0);
  EXPECT_NE(ARMCI_PutS_flag(&value, &stride, nowhere, &stride, count, 1, flag, 5, next), 0);
  ARMCI_Fence(next);
  EXPECT_EQ(ARMCI_GetValueInt(flag, next), 0);
  EXPECT_EQ(ARMCI_PutS_flag(&value, &stride, remote.at(next, 64), &stride, count, 1, flag, 5, next), 0);
  ARMCI_Fence(next);
  EXPECT_EQ(ARMCI_GetValueInt(flag, next), 5);
}

TEST(Mutexes, OutliveTheirGroup) {
  ARMCI_Group world;
  ARMCI_Group group;
  ARMCI_Group_get_world(&world);
  ASSERT_EQ(ARMCIX_Group_dup(&world, &group), 0);
  armcix_mutex_hdl_t const mutexes = ARMCIX_Create_mutexes_hdl(1, &group);
  ARMCI_Group_free(&group);
  int const last = size() - 1;
  Remote remote(64);
  for (int round = 0; round < 100; ++round) {
    ARMCIX_Lock_hdl(mutexes, 0, last);
    long const before = ARMCI_GetValueLong(remote.at(0), 0);
    ARMCI_PutValueLong(before + 1, remote.at(0), 0);
    ARMCI_Fence(0);
    ARMCIX_Unlock_hdl(mutexes, 0, last);
  }
  ARMCI_Barrier();
  EXPECT_EQ(ARMCI_GetValueLong(remote.at(0), 0), 100L * size());
  ARMCI_Barrier();
  EXPECT_EQ(ARMCIX_Trylock_hdl(mutexes, 1, last), 2);  // there is only one mutex
  EXPECT_EQ(ARMCIX_Destroy_mutexes_hdl(mutexes), 0);
}

}  // namespace
