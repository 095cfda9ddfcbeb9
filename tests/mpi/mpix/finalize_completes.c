/*
 * MPI_Finalize completes all operations: those without a request, with a request that nobody waits for, and
 * those through a communicator that is freed. Allocated memory is accessible afterwards.
 */
#include <mpix_rma.h>
#include <stdio.h>
#include <stdlib.h>

enum { count = 20000, parts = 3 };

static long values[parts][count], received[parts][count];

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm comm, freed;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_dup(MPI_COMM_WORLD, &freed);
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const int other = (rank + 1) % size;
  void *base, **there = malloc((size_t)size * sizeof(*there));
  MPIX_RMA_Allocate(64, MPI_INFO_NULL, comm, &base, NULL);
  *(long*)base = rank + 7;
  void* const own = received;
  MPI_Allgather(&own, sizeof(own), MPI_BYTE, there, sizeof(own), MPI_BYTE, comm);
  for (int part = 0; part < parts; ++part) {
    for (int i = 0; i < count; ++i) {
      values[part][i] = 1000 * part + i;
    }
    MPI_Request request;
    long* const target = (long*)there[other] + (size_t)part * count;
    MPIX_RMA_xfer(MPIX_RMA_PUT, values[part], count, MPI_LONG, other, target, count, MPI_LONG,
                  part == 1 ? &request : NULL, part == 2 ? &freed : &comm, NULL);
  }
  free(there);
  MPI_Comm_free(&freed);
  MPI_Finalize();
  long wrong = 0;
  for (int part = 0; part < parts; ++part) {
    for (int i = 0; i < count; ++i) {
      wrong += received[part][i] != 1000 * part + i;
    }
  }
  wrong += *(long*)base != rank + 7;
  printf("rank %d: %ld wrong\n", rank, wrong);
  return wrong != 0;
}
