/*
 * 10. The same program twice: a ring of puts and a counter at rank 0, with MPIX_RMA and with MPI's windows.
 * On this library both run on the same engine.
 *
 * Without Complete, and without the flush, it breaks as in example 1: only after one of these a put is sure
 * to be in the target's memory. To see it break:
 * mpirun -np 4 --mca osc_mpix_path message ./beside_windows --without
 */
#include "course.h"

static long with_attributes(void)
{
    void **bases = course_allocate(2 * sizeof(long));
    long *mine = bases[rank], value = 100 + rank, one = 1;

    MPIX_RMA_xfer(MPIX_RMA_PUT, &value, 1, MPI_LONG, next, bases[next], 1, MPI_LONG, NULL, &world, NULL);
    MPIX_RMA_rmw(MPIX_RMW_SUM, &one, 1, MPI_LONG, NULL, 0, (MPI_Aint) ((long *) bases[0] + 1), NULL, &world,
                 NULL);
    if (!without) {
        MPIX_RMA_Complete(&world, MPIX_ALL_RANKS);
    }
    MPI_Barrier(world);

    const long wrong = (mine[0] != 100 + previous) + (rank == 0 && mine[1] != size);
    MPIX_RMA_Complete(&world, MPIX_ALL_RANKS);
    course_free(bases);
    return wrong;
}

static long with_windows(void)
{
    MPI_Win win;
    long *mine, value = 100 + rank, one = 1;
    MPI_Win_allocate(2 * sizeof(long), sizeof(long), MPI_INFO_NULL, world, &mine, &win);
    mine[0] = mine[1] = 0;
    MPI_Barrier(world);

    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    MPI_Put(&value, 1, MPI_LONG, next, 0, 1, MPI_LONG, win);
    MPI_Accumulate(&one, 1, MPI_LONG, 0, 1, 1, MPI_LONG, MPI_SUM, win);
    if (!without) {
        MPI_Win_flush_all(win);
    }
    MPI_Barrier(world);
    MPI_Win_sync(win);

    const long wrong = (mine[0] != 100 + previous) + (rank == 0 && mine[1] != size);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    return wrong;
}

int main(int argc, char **argv)
{
    course_begin(argc, argv);
    long wrong = with_attributes();
    wrong += with_windows();
    return course_end("beside_windows", wrong);
}
