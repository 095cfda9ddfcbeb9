/// ARMCI: a local address in device memory is an error of the call, and the program continues.
#include "tests/support/device_memory.hpp"

#include <gtest/gtest.h>

#include "include/armci/armci.h"
#include "tests/support/armci_memory.hpp"

namespace {

using mpixrma::test::me;
using mpixrma::test::Remote;
using mpixrma::test::size;

TEST(DeviceMemory, IsRefusedAsTheLocalSide) {
  mpixrma::test::DevicePages const device;
  ASSERT_TRUE(device.there());
  Remote remote(4096);
  int const next = (me() + 1) % size();
  double scale = 1;
  int stride[] = {64};
  int block[] = {8, 4};
  armci_giov_t list{};
  void* here[] = {device.at()};
  for (int const process : {me(), next}) {
    void* const there = remote.at(process, 512 * static_cast<std::size_t>(me()));
    list.src_ptr_array = here;
    void* remotes[] = {there};
    list.dst_ptr_array = remotes;
    list.ptr_array_len = 1;
    list.bytes = 8;
    for (long round = 0; round < 3; ++round) {
      EXPECT_NE(ARMCI_Put(device.at(), there, 8, process), 0);
      EXPECT_NE(ARMCI_Get(there, device.at(), 8, process), 0);
      EXPECT_NE(ARMCI_Acc(ARMCI_ACC_DBL, &scale, device.at(), there, 8, process), 0);
      EXPECT_NE(ARMCI_PutS(device.at(), stride, there, stride, block, 1, process), 0);
      EXPECT_NE(ARMCI_AccS(ARMCI_ACC_DBL, &scale, device.at(), stride, there, stride, block, 1, process), 0);
      EXPECT_NE(ARMCI_PutV(&list, 1, process), 0);
      EXPECT_NE(ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, device.at(), there, 1, process), 0);
      EXPECT_NE(ARMCI_Rmw(ARMCI_SWAP, device.at(), there, 0, process), 0);
      long put = 100 * me() + round;
      long got = -1;
      EXPECT_EQ(ARMCI_Put(&put, there, sizeof put, process), 0);
      ARMCI_Fence(process);
      EXPECT_EQ(ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &got, there, 1, process), 0);
      EXPECT_EQ(got, put);
      EXPECT_EQ(ARMCI_Get(there, &got, sizeof got, process), 0);
      EXPECT_EQ(got, put + 1);
    }
    ARMCI_Barrier();
  }
}

}  // namespace
