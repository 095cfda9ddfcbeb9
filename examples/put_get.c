/*
 * 1. Put and get. Each rank puts a line into the memory of the next rank, completes the put at the target,
 * and after a barrier gets the last element of the line back.
 *
 * Without MPIX_RMA_Complete it breaks because a put is complete when its buffer may be reused: the target's
 * memory may still have the old content when the barrier ends. On one host with allocated memory the data are
 * there at once, whatever the program does; to see it break, let all operations be messages:
 *
 *   mpirun -np 4 --mca osc_mpix_path message ./put_get --without
 */
#include "course.h"

enum {
    count = 50000,
    rounds = 20
};

int main(int argc, char **argv)
{
    course_begin(argc, argv);
    void **bases = course_allocate(count * sizeof(int));
    int *line = malloc(count * sizeof(int));
    const int *mine = bases[rank];
    long wrong = 0;
    for (int round = 1; round <= rounds; ++round) {
        for (int i = 0; i < count; ++i) {
            line[i] = 1000 * round + rank;
        }
        MPIX_RMA_xfer(MPIX_RMA_PUT, line, count, MPI_INT, next, bases[next], count, MPI_INT, NULL, &world,
                      NULL);
        if (!without) {
            MPIX_RMA_Complete(&world, next); /* in the target's memory */
        }
        MPI_Barrier(world);
        wrong += mine[count - 1] != 1000 * round + previous;

        /* A get has its data when it is complete; BLOCKING: when the call returns. */
        const MPIX_RMA_Attributes blocking = {.set = MPIX_RMA_ATTR_BLOCKING};
        int last = -1;
        MPIX_RMA_xfer(MPIX_RMA_GET, &last, 1, MPI_INT, next, (int *) bases[next] + count - 1, 1, MPI_INT,
                      NULL, &world, &blocking);
        wrong += last != 1000 * round + rank;
        MPIX_RMA_Complete(&world, next); /* before the buffer changes */
        MPI_Barrier(world);
    }
    free(line);
    course_free(bases);
    return course_end("put_get", wrong);
}
