/*
 * Operations on windows in the table of MPIX_RMA_STATISTICS, of a program that is not linked with the library: each of
 * two ranks of a host puts ten times to the other, fetches once from it, and gets once from itself.
 */
#include <mpi.h>

int main(int argc, char** argv) {
  long value = 5;
  long before = 0;
  int rank = 0;
  void* base = NULL;
  MPI_Win window;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Win_allocate(64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
  MPI_Win_lock_all(0, window);
  for (int i = 0; i < 10; ++i) MPI_Put(&value, 1, MPI_LONG, 1 - rank, 1, 1, MPI_LONG, window);
  MPI_Get(&value, 1, MPI_LONG, rank, 1, 1, MPI_LONG, window);
  MPI_Fetch_and_op(&value, &before, MPI_LONG, 1 - rank, 2, MPI_SUM, window);
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
