/* See comex_world.h. */
#include <comex.h>
#include <mpi.h>

int bench_comex_level;

MPI_Comm bench_comex_world(void) {
  static MPI_Comm known = MPI_COMM_NULL;
  if (!comex_initialized()) {
    return MPI_COMM_WORLD;
  }
  if (known == MPI_COMM_NULL) {
    comex_group_comm(COMEX_GROUP_WORLD, &known);
  }
  return known;
}

/* `comm` is bench_comex_world(). */
int bench_comex_barrier(MPI_Comm comm) {
  if (!comex_initialized()) {
    return MPI_Barrier(comm);
  }
  return comex_barrier(COMEX_GROUP_WORLD) == COMEX_SUCCESS ? MPI_SUCCESS : MPI_ERR_OTHER;
}
