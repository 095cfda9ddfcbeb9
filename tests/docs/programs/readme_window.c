/* The program around README.md's snippet on windows: ranks put to the next one. */
#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm world = MPI_COMM_WORLD;
  int rank, size;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  double value = rank;
  int next = (rank + 1) % size;
  /* snippet 2 */
  const int right = *base == (rank + size - 1) % size;
  MPI_Win_free(&win);
  MPI_Finalize();
  return right ? 0 : 1;
}
