/* A program with functions of its own in place of the library's: they count each call, and pass it on. */
#include <mpix_rma.h>
#include <mpix_rma/profiling.h>
#include <stdio.h>

static int puts_seen, completions_seen, allocations_seen;

int MPIX_RMA_xfer(MPIX_RMA_Op op, void* origin, int origin_count, MPI_Datatype origin_type, int rank,
                  void* target, int target_count, MPI_Datatype target_type, MPI_Request* request,
                  MPI_Comm* comm, const MPIX_RMA_Attributes* attributes) {
  puts_seen += op == MPIX_RMA_PUT;
  return PMPIX_RMA_xfer(op, origin, origin_count, origin_type, rank, target, target_count, target_type,
                        request, comm, attributes);
}

int MPIX_RMA_Complete(MPI_Comm* comm, int rank) {
  ++completions_seen;
  return PMPIX_RMA_Complete(comm, rank);
}

int MPIX_RMA_Allocate(MPI_Aint size, MPI_Info info, MPI_Comm comm, void** base, void* bases[]) {
  ++allocations_seen;
  return PMPIX_RMA_Allocate(size, info, comm, base, bases);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm world = MPI_COMM_WORLD;
  int rank, size, failed = 0;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  void* bases[64];
  failed |= MPI_SUCCESS != MPIX_RMA_Allocate(sizeof(long), MPI_INFO_NULL, world, NULL, bases);
  for (long i = 1; i <= 10; ++i) {
    failed |= MPI_SUCCESS != MPIX_RMA_xfer(MPIX_RMA_PUT, &i, 1, MPI_LONG, (rank + 1) % size,
                                           bases[(rank + 1) % size], 1, MPI_LONG, NULL, &world, NULL);
    failed |= MPI_SUCCESS != MPIX_RMA_Complete(&world, (rank + 1) % size);
  }
  MPI_Barrier(world);
  failed |= 10 != *(long*)bases[rank];
  failed |= 10 != puts_seen || 10 != completions_seen || 1 != allocations_seen;
  failed |= MPI_SUCCESS != MPIX_RMA_Free(bases[rank], world);
  MPI_Finalize();
  if (failed)
    fprintf(stderr, "seen: %d puts, %d completions, %d allocations\n", puts_seen, completions_seen,
            allocations_seen);
  return failed;
}
