/* The program around the tutorial's snippet on attributes: ranks add to the next one with a notification. */
#include <mpi.h>
#include <mpix_rma.h>
#include <stdlib.h>

enum { n = 4 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int self, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &self);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int rank = (self + 1) % size;
  double values[n] = {1, 2, 3, 4};
  void** bases = malloc(sizeof *bases * (size_t)size);
  MPI_Comm all = MPI_COMM_WORLD;
  MPIX_RMA_Allocate(4096, MPI_INFO_NULL, all, NULL, bases);
  void* remote_address = bases[rank];
  MPIX_RMA_xfer(MPIX_RMA_PUT, values, n, MPI_DOUBLE, rank, remote_address, n, MPI_DOUBLE, NULL, &all, NULL);
  MPIX_RMA_Complete(&all, rank);
  MPI_Barrier(MPI_COMM_WORLD);
  const double* mine = bases[self];
  int right = mine[0] == 1 && mine[n - 1] == n;
  MPI_Barrier(MPI_COMM_WORLD);

  MPI_Comm world, ordered;
  MPI_Comm_dup(MPI_COMM_WORLD, &world);
  MPI_Comm_dup(MPI_COMM_WORLD, &ordered);
  MPI_Request request;
  long* counter = (long*)bases[rank] + n;
  long expected = 0, wanted = 5, before = -1;
  /* snippet 1 */
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPIX_RMA_Complete(&world, rank);
  MPI_Barrier(MPI_COMM_WORLD);
  right = right && before == 0 && mine[n - 1] == 2 * n && ((const long*)bases[self])[n] == 5;
  MPI_Count told = 0;
  MPIX_RMA_Get_notify_value(world, 3, &told);
  right = right && told == 1;
  MPI_Comm_free(&ordered);
  MPI_Comm_free(&world);
  MPIX_RMA_Free(bases[self], all);
  free(bases);
  MPI_Finalize();
  return right ? 0 : 1;
}
