/// A process of another host is killed before another one has communicated with it: operations to it fail,
/// and those to other targets continue. The last line of output is the result, because the exit status of
/// mpirun is arbitrary when a rank is killed.
///
/// usage: scripts/two-hosts --ranks-per-host 2 -- --enable-recovery unused_killed
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <cstring>

#include "tests/fault/outlived.hpp"

namespace {

using namespace mpixrma::fault;

// Ranks 0 and 1 are on one host, 2 and 3 on the other.
constexpr int writer = 2;

/// Puts a number, and returns the first error of put and flush.
int put(int target, long const* value, MPI_Win window) {
  int const code = MPI_Put(value, 1, MPI_LONG, target, 0, 1, MPI_LONG, window);
  int const flushed = MPI_Win_flush(target, window);
  return code != MPI_SUCCESS ? code : flushed;
}

void outlive_victim(MPI_Win window) {
  long const value = 7;
  ::usleep(500000);
  require(MPI_Win_lock_all(0, window) == MPI_SUCCESS, "a lock of all ranks needs no target");
  for (int i = 0; i < 20; ++i) {
    int const code = put(victim, &value, window);
    require(class_of(code) == MPI_ERR_OTHER, "a put to the ended process fails");
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    require(std::strstr(text, "rank 1") != nullptr, "the error names the rank");
  }
  for (int const living : {0, 3})
    require(put(living, &value, window) == MPI_SUCCESS, "puts to other targets are complete");
}

}  // namespace

int main(int argc, char** argv) {
  int const rank = begin(&argc, &argv);
  long* memory = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == victim) ::kill(::getpid(), SIGKILL);
  char token = 0;
  if (rank == writer) {
    outlive_victim(window);
    for (int const living : {0, 3}) MPI_Send(&token, 1, MPI_CHAR, living, 0, MPI_COMM_WORLD);
    print_result("the target was never reached");
  } else {
    MPI_Recv(&token, 1, MPI_CHAR, writer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  end();
}
