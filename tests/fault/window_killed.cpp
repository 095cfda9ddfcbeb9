/// A target of a window is killed: flush and unlock report it, and operations on the other targets continue.
/// The last line of output is the result, because the exit status of mpirun is arbitrary when a rank is
/// killed.
///
/// usage: mpirun --enable-recovery -np 3 window_killed
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace {

enum : int { origin, victim, other };

void require(bool holds, char const* what) {
  if (holds) return;
  std::printf("not so: %s\n", what);
  std::fflush(stdout);
  ::_exit(1);
}

int class_of(int code) {
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  return error_class;
}

void put_until_lost(MPI_Win window) {
  long const value = 1;
  int code = MPI_SUCCESS;
  for (int i = 0; code == MPI_SUCCESS; ++i) {  // an alarm bounds it
    code = MPI_Put(&value, 1, MPI_LONG, victim, 0, 1, MPI_LONG, window);
    if (code == MPI_SUCCESS) code = MPI_Win_flush(victim, window);
  }
  require(class_of(code) == MPI_ERR_OTHER, "the operation, or its flush, reports the end of the target");
  code = MPI_Put(&value, 1, MPI_LONG, victim, 0, 1, MPI_LONG, window);
  if (code == MPI_SUCCESS) code = MPI_Win_flush(victim, window);
  require(class_of(code) == MPI_ERR_OTHER, "later operations fail, too");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  ::alarm(600);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  auto* const memory = static_cast<long*>(std::calloc(8, sizeof(long)));
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_create(memory, 8 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
  char token = 0;
  if (rank == victim) {
    MPI_Recv(&token, 1, MPI_CHAR, origin, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    ::kill(::getpid(), SIGKILL);
  }
  if (rank == origin) {
    MPI_Win_lock(MPI_LOCK_SHARED, victim, 0, window);
    MPI_Win_lock(MPI_LOCK_SHARED, other, 0, window);
    long value = 7;
    MPI_Put(&value, 1, MPI_LONG, victim, 0, 1, MPI_LONG, window);
    require(MPI_Win_flush(victim, window) == MPI_SUCCESS, "a put to a living target is complete");
    MPI_Send(&token, 1, MPI_CHAR, victim, 0, MPI_COMM_WORLD);
    put_until_lost(window);
    (void)MPI_Win_unlock(victim, window);
    MPI_Put(&value, 1, MPI_LONG, other, 0, 1, MPI_LONG, window);
    require(MPI_Win_unlock(other, window) == MPI_SUCCESS, "operations on another target continue");
    MPI_Send(&token, 1, MPI_CHAR, other, 0, MPI_COMM_WORLD);
  }
  if (rank == other) {
    MPI_Recv(&token, 1, MPI_CHAR, origin, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    require(memory[0] == 7, "the put to this process has arrived");
    std::puts("the window outlived its target");
    std::fflush(stdout);
  }
  ::usleep(200000);
  ::_exit(0);  // collective calls need all processes
}
