/// main() of the ARMCI tests: every process runs all tests; a failure of any process fails the run. Processes
/// other than 0 print only what fails. MPIX_TEST_THREAD_LEVEL: the level of both libraries.
#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

#include "include/armci/armci.h"
#include "tests/support/failures_only.hpp"
#include "tests/support/slowness.hpp"

#ifndef MPIX_TEST_THREAD_LEVEL
#define MPIX_TEST_THREAD_LEVEL MPI_THREAD_SINGLE
#endif

int main(int argc, char** argv) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPIX_TEST_THREAD_LEVEL, &provided);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank != 0) GTEST_FLAG_SET(output, "");  // one file of results
  ::testing::InitGoogleTest(&argc, argv);
  if (ARMCI_Init_thread(MPIX_TEST_THREAD_LEVEL) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
  if (rank != 0) {
    auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new mpixrma::test::FailuresOnly);
  }
  ::alarm(1000 * mpixrma::test::slowness);  // a hang ends the process and, by mpirun, the job
  int failed = RUN_ALL_TESTS();
  int any = 0;
  MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  ARMCI_Finalize();
  MPI_Finalize();
  return any;
}
