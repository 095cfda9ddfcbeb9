/* MPI_Finalize returns although no process has freed a window or ended its epoch of MPI_Win_lock_all, and
 * rank 0 also holds an exclusive lock and has posted a window. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    enum {
        bytes = 4096
    };
    int rank = 0;
    int size = 0;
    long one = 1;
    void *allocated = NULL;
    MPI_Win locked;
    MPI_Win all;
    MPI_Win waiting;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    void *created = calloc(1, bytes);
    MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &allocated, &locked);
    MPI_Win_create(created, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &all);
    MPI_Win_create(created, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &waiting);
    MPI_Win_lock_all(0, all);
    MPI_Accumulate(&one, 1, MPI_LONG, (rank + 1) % size, 0, 1, MPI_LONG, MPI_SUM, all);
    if (0 == rank) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, size - 1, 0, locked);
        MPI_Put(&one, 1, MPI_LONG, size - 1, 0, 1, MPI_LONG, locked);
        MPI_Win_post(MPI_GROUP_EMPTY, 0, waiting);
    }
    MPI_Finalize();
    free(created);
    return 0;
}
