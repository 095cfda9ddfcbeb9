/*
 * MPI_Finalize completes all operations: those without a request, with a request that nobody waits for, and
 * those through a communicator that is freed. Allocated memory is accessible afterwards. A callback of
 * MPI_COMM_SELF that is older than the library's, and runs behind it, frees memory of MPI_Alloc_mem.
 */
#include <mpix_rma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { count = 20000, parts = 3 };

static long values[parts][count], received[parts][count];
static int not_freed = 1;

static int free_at_finalize(MPI_Comm comm, int key, void* memory, void* extra) {
  (void)comm;
  (void)key;
  (void)extra;
  not_freed = MPI_Free_mem(*(void**)memory) != MPI_SUCCESS;
  return MPI_SUCCESS;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  void* from_mpi = NULL;
  int key = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &free_at_finalize, &key, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, &from_mpi);
  MPI_Alloc_mem(8192, MPI_INFO_NULL, &from_mpi);
  memset(from_mpi, 1, 8192);
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
  wrong += not_freed;
  printf("rank %d: %ld wrong\n", rank, wrong);
  return wrong != 0;
}
