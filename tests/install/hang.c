/* A job that hangs, for `mpix-rma ps`: rank 0 locks its own memory exclusively and computes; the others
 * wait for the lock. The job continues when the file that the argument names exists. Rank 0 prints "ready"
 * when it has the lock. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

static void compute_until(const char* file) {
  volatile double sum = 0;
  while (access(file, F_OK) != 0) {
    for (int i = 0; i < 1000000; ++i) sum += i;
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 2) MPI_Abort(MPI_COMM_WORLD, 2);
  int rank = 0;
  long* word = NULL;
  MPI_Win window = MPI_WIN_NULL;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &word, &window);
  *word = 0;
  if (rank == 0) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
  MPI_Barrier(MPI_COMM_WORLD);
  long const one = 1;
  if (rank == 0) {
    printf("ready\n");
    fflush(stdout);
    compute_until(argv[1]);
  } else {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
  }
  MPI_Accumulate(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, window);
  MPI_Win_unlock(0, window);
  MPI_Barrier(MPI_COMM_WORLD);
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int const wrong = rank == 0 && *word != size;
  MPI_Win_free(&window);
  MPI_Finalize();
  return wrong;
}
