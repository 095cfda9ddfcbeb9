/// ARMCI: calls before initialization, initializations that fail, and finalization after failures. One test,
/// because the order counts.
#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "include/armci/armci.h"
#include "include/armci/armcix.h"
#include "tests/support/armci_memory.hpp"
#include "tests/support/slowness.hpp"

namespace {

using mpixrma::test::me;
using mpixrma::test::nowhere;
using mpixrma::test::size;

/// Expects that ARMCI is not initialized, and that calls of each kind with an error code return an error.
void expect_not_running() {
  std::vector<void*> bases(static_cast<std::size_t>(size()));
  ARMCI_Group world;
  ARMCI_Group copy;
  ARMCI_Group_get_world(&world);
  long value = 0;
  EXPECT_EQ(ARMCI_Initialized(), 0);
  EXPECT_NE(ARMCI_Malloc(bases.data(), 64), 0);
  EXPECT_NE(ARMCI_Malloc_group(bases.data(), 64, &world), 0);
  EXPECT_NE(ARMCI_Free(nullptr), 0);
  EXPECT_NE(ARMCI_Free_group(nullptr, &world), 0);
  EXPECT_NE(ARMCI_Create_mutexes(1), 0);
  EXPECT_NE(ARMCIX_Group_dup(&world, &copy), 0);
  EXPECT_NE(ARMCIX_Group_split(&world, 0, 0, &copy), 0);
  EXPECT_NE(ARMCIX_Mode_set(ARMCIX_MODE_ALL, nullptr, &world), 0);
  EXPECT_NE(ARMCI_Put(&value, nowhere, sizeof value, 0), 0);
  EXPECT_NE(ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &value, nowhere, 1, 0), 0);
  armci_hdl_t handle{};
  EXPECT_NE(ARMCI_Wait(&handle), 0);
  EXPECT_EQ(ARMCI_Test(&handle), 2);
  EXPECT_NE(ARMCI_WaitProc(0), 0);
  EXPECT_NE(ARMCI_WaitAll(), 0);
  EXPECT_EQ(ARMCI_Finalize(), 0);
}

/// Expects transfers to work.
void expect_running() {
  EXPECT_EQ(ARMCI_Initialized(), 1);
  mpixrma::test::Remote remote(64);
  int const next = (me() + 1) % size();
  EXPECT_EQ(ARMCI_PutValueLong(7 + me(), remote.at(next), next), 0);
  ARMCI_Barrier();
  EXPECT_EQ(*reinterpret_cast<long*>(remote.mine()), 7 + (me() + size() - 1) % size());
}

/// Every second process: two independent worlds.
void expect_part_of_world() {
  MPI_Comm part = MPI_COMM_NULL;
  int part_size = 0;
  MPI_Comm_split(MPI_COMM_WORLD, me() % 2, me(), &part);
  MPI_Comm_size(part, &part_size);
  EXPECT_EQ(ARMCI_Init_mpi_comm(part), 0);
  MPI_Comm_free(&part);
  EXPECT_EQ(size(), part_size);
  expect_running();
  EXPECT_EQ(ARMCI_Finalize(), 0);
}

void expect_init_to_fail(char const* variable) {
  bool const wrong_here = me() == size() - 1;
  if (wrong_here) ::setenv(variable, "nonsense", 1);
  EXPECT_NE(ARMCI_Init(), 0);
  ::unsetenv(variable);
}

TEST(Lifetime, StartsAndEndsDespiteFailures) {
  ::alarm(600 * mpixrma::test::slowness);  // a hang ends the process, and mpirun the job
  expect_not_running();
  expect_init_to_fail("ARMCI_STRIDED_METHOD");
  expect_not_running();
  expect_init_to_fail("ARMCI_IOV_BATCHED_LIMIT");
  EXPECT_NE(ARMCI_Init_thread_comm(MPI_THREAD_SINGLE, MPI_COMM_NULL), 0);

  EXPECT_EQ(ARMCI_Init(), 0);
  EXPECT_EQ(ARMCI_Init(), 0);
  expect_running();
  EXPECT_EQ(ARMCI_Finalize(), 0);  // of the second ARMCI_Init
  expect_running();
  ARMCI_Group world;
  ARMCI_Group_get_world(&world);
  static armcix_mutex_hdl_t const mutexes = ARMCIX_Create_mutexes_hdl(1, &world);

  // An implicit get that fails, if possible after it has been issued.
  long value = 0;
  if (me() == 0) (void)ARMCI_NbGet(nowhere, &value, sizeof value, size() - 1, nullptr);
  if (me() == 0) {
    EXPECT_NE(ARMCI_Finalize(), 0);
  } else {
    EXPECT_EQ(ARMCI_Finalize(), 0);
  }
  expect_not_running();
  EXPECT_NE(ARMCIX_Destroy_mutexes_hdl(mutexes), 0);

  EXPECT_EQ(ARMCI_Init(), 0);
  expect_running();
  int refused = 0;
  if (me() == 0) refused = ARMCI_Put(&value, nowhere, sizeof value, size() - 1);
  int const code = ARMCI_Finalize();
  EXPECT_EQ(refused != 0 || code != 0, me() == 0);
  expect_part_of_world();
}

}  // namespace
