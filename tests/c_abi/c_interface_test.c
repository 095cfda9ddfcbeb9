/* The interface as a C program sees it. */
#include <mpi.h>
#include <mpix_rma.h>
#include <stdio.h>
#include <stdlib.h>

#define REQUIRE(condition)                                    \
  do {                                                        \
    if (!(condition)) {                                       \
      fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
      MPI_Abort(MPI_COMM_WORLD, 1);                           \
    }                                                         \
  } while (0)

int main(int argc, char** argv) {
  /* Before MPI_Init there is no error handler: one line on stderr, and an error code. */
  void* early = NULL;
  REQUIRE(MPIX_RMA_Allocate_local(8, MPI_INFO_NULL, &early) == MPI_ERR_OTHER);
  MPI_Init(&argc, &argv);
  MPI_Comm world = MPI_COMM_WORLD;
  int rank, size;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  void** bases = malloc(sizeof(void*) * (size_t)size);
  REQUIRE(MPIX_RMA_Allocate(64, MPI_INFO_NULL, &world, bases) == MPI_SUCCESS);
  int next = (rank + 1) % size;
  int value = 10 + rank;
  MPI_Request request;
  REQUIRE(MPIX_RMA_xfer(MPIX_RMA_PUT, &value, 1, MPI_INT, next, bases[next], 1, MPI_INT, &request, &world,
                        NULL) == MPI_SUCCESS);
  REQUIRE(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  REQUIRE(MPIX_RMA_Complete(&world, MPIX_ALL_RANKS) == MPI_SUCCESS);
  MPI_Barrier(world);
  REQUIRE(*(int*)bases[rank] == 10 + (rank + size - 1) % size);
  MPI_Barrier(world);
  REQUIRE(MPIX_RMA_Free(bases[rank], &world) == MPI_SUCCESS);
  free(bases);
  MPI_Finalize();
  REQUIRE(MPIX_RMA_Free_local(&value) == MPI_ERR_OTHER);
  return 0;
}
