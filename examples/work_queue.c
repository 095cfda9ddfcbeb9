/*
 * A distributed work queue.
 *
 * Rank 0 holds a counter of items handed out, and an array for the results; every process draws items with
 * MPIX_RMA_rmw and puts each result into the array. There is no server: rank 0 works like the others. The
 * memory is plain malloc memory of rank 0: its address is all that the others need.
 *
 * Run: mpirun -np 4 ./work_queue
 */
#include <mpi.h>
#include <mpix_rma.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    items = 3000
};

struct queue {
    long next; /* items handed out so far */
    long results[items];
    long done[items]; /* how often each was done: must be once */
};

static long solve(long item)
{
    return item * item + 7;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm world = MPI_COMM_WORLD;
    int rank, size;
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);

    struct queue *queue = NULL;
    if (rank == 0) {
        queue = calloc(1, sizeof(*queue));
    }
    /* An address is data that can be sent. It refers to rank 0 at every process. */
    MPI_Bcast(&queue, sizeof(queue), MPI_BYTE, 0, world);

    MPIX_RMA_Attributes blocking = {.set = MPIX_RMA_ATTR_BLOCKING};
    long one = 1, mine = 0;
    for (;;) {
        long item;
        MPIX_RMA_rmw(MPIX_RMW_SUM, &one, 1, MPI_LONG, &item, 0, (MPI_Aint) &queue->next, NULL, &world,
                     &blocking);
        if (item >= items) {
            break;
        }
        long result = solve(item);
        /* Blocking: `result` may be reused when the call returns. */
        MPIX_RMA_xfer(MPIX_RMA_PUT, &result, 1, MPI_LONG, 0, &queue->results[item], 1, MPI_LONG, NULL, &world,
                      &blocking);
        MPIX_RMA_rmw(MPIX_RMW_INC, NULL, 1, MPI_LONG, NULL, 0, (MPI_Aint) &queue->done[item], NULL, &world,
                     NULL);
        ++mine;
    }
    MPIX_RMA_Complete(&world, 0);
    long total = 0;
    MPI_Reduce(&mine, &total, 1, MPI_LONG, MPI_SUM, 0, world);
    int wrong = 0;
    if (rank == 0) {
        for (long i = 0; i < items; ++i) {
            if (queue->results[i] != solve(i) || queue->done[i] != 1) {
                ++wrong;
            }
        }
        if (total != items) {
            ++wrong;
        }
        printf("%ld items by %d processes: %s\n", total, size,
               wrong == 0 ? "result correct" : "RESULT WRONG");
        free(queue);
    }
    MPI_Bcast(&wrong, 1, MPI_INT, 0, world);
    MPI_Finalize();
    return wrong == 0 ? 0 : 1;
}
