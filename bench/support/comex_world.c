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
