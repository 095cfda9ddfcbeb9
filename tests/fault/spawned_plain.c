/* A program that spawn_test spawns and that does not use the library: it sends to its parents and
 * waits for them. */
#include <mpi.h>
#include <stddef.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm parents = MPI_COMM_NULL;
    int rank = 0;
    MPI_Comm_get_parent(&parents);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Send(&rank, 1, MPI_INT, 0, 0, parents);
    MPI_Barrier(parents);
    MPI_Comm_disconnect(&parents);
    MPI_Finalize();
    return 0;
}
