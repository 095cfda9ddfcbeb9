/// main() of the multi-rank tests: every rank runs all tests; a failure of any rank fails the run. Ranks
/// other than 0 print only what fails. A run that hangs is ended.
#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "tests/support/failures_only.hpp"
#include "tests/support/slowness.hpp"

namespace {

constexpr unsigned hang_seconds = 1000 * mpixrma::test::slowness;

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  char const* const threads = std::getenv("MPIX_TEST_THREADS");
  bool const one = threads != nullptr && std::strcmp(threads, "single") == 0;
  MPI_Init_thread(&argc, &argv, one ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE, &provided);
#ifdef MPICH_VERSION
  // Errors of requests that belong to no communicator, such as those of the MPI host on public MPI, go to
  // MPI_COMM_SELF.
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
#endif
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank != 0) GTEST_FLAG_SET(output, "");  // one file of results
  ::testing::InitGoogleTest(&argc, argv);
  if (rank != 0) {
    auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new mpixrma::test::FailuresOnly);
  }
  ::alarm(hang_seconds);  // the default action ends the process and, by mpirun, the job
  int failed = RUN_ALL_TESTS();
  int any = 0;
  MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return any;
}
