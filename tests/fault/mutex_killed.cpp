/// A process that is killed while it holds a mutex does not stop the others. The last line of output is the
/// result, because the exit status of mpirun is arbitrary when a rank is killed.
///
/// usage: mpirun --enable-recovery -np 3 mutex_killed
#include <armci.h>
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>

namespace {

enum : int { target, victim, next_holder };

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  ARMCI_Init();
  ARMCI_Create_mutexes(1);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  ::alarm(600);
  char token = 0;
  if (rank == victim) {
    ARMCI_Lock(0, target);
    MPI_Send(&token, 1, MPI_CHAR, next_holder, 0, MPI_COMM_WORLD);
    ::usleep(300000);  // until the other process waits
    ::kill(::getpid(), SIGKILL);
  }
  if (rank == next_holder) {
    MPI_Recv(&token, 1, MPI_CHAR, victim, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int turn = 0; turn < 3; ++turn) {
      ARMCI_Lock(0, target);
      ARMCI_Unlock(0, target);
    }
    MPI_Send(&token, 1, MPI_CHAR, target, 0, MPI_COMM_WORLD);
  }
  if (rank == target) {
    MPI_Recv(&token, 1, MPI_CHAR, next_holder, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    ARMCI_Lock(0, target);
    ARMCI_Unlock(0, target);
    std::puts("the mutex outlived its holder");
    std::fflush(stdout);
  }
  ::usleep(200000);
  ::_exit(0);  // collective calls need all processes
}
