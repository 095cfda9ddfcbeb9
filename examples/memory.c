/*
 * 8. Three kinds of target memory: allocated (loads and stores on one host, the network's put and get between
 * hosts), registered (the program's own memory, made known to the network), and any other, whose address is
 * all that an operation needs. They differ in speed alone.
 *
 * TARGET_COMMUNICATABLE states that the memory is one of the first two, and saves a look-up on some networks.
 * A false statement is erroneous, because the library relies on it. Only osc_mpix_check makes it an error of
 * the call. To see that: mpirun -np 2 --mca osc_mpix_check 1 ./memory --without
 */
#include "course.h"

enum {
    count = 1000
};

int main(int argc, char **argv)
{
    course_begin(argc, argv);
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    int *registered = calloc(count, sizeof(int));
    int *other = calloc(count, sizeof(int));
    MPIX_RMA_Register(registered, count * sizeof(int), MPI_INFO_NULL);
    void **kinds[3] = {course_allocate(count * sizeof(int)), course_addresses(registered),
                       course_addresses(other)};
    MPI_Barrier(world); /* every rank has registered its memory */

    int values[count];
    for (int i = 0; i < count; ++i) {
        values[i] = 100 * rank + i;
    }
    long wrong = 0;
    for (int kind = 0; kind < 3; ++kind) {
        const int stated = kind < 2 || without;
        const MPIX_RMA_Attributes chosen = {.set = stated ? MPIX_RMA_ATTR_TARGET_COMMUNICATABLE : 0};
        wrong += MPIX_RMA_xfer(MPIX_RMA_PUT, values, count, MPI_INT, next, kinds[kind][next], count, MPI_INT,
                               NULL, &world, &chosen) != MPI_SUCCESS;
        int flag = -1;
        MPIX_RMA_Query(world, next, kinds[kind][next], &flag, NULL, NULL);
        wrong += flag != (kind < 2);
    }
    MPIX_RMA_Complete(&world, next);
    MPI_Barrier(world);
    for (int kind = 0; kind < 3; ++kind) {
        const int *mine = kinds[kind][rank];
        wrong += mine[count - 1] != 100 * previous + count - 1;
    }
    MPI_Barrier(world);
    MPIX_RMA_Deregister(registered, count * sizeof(int));
    course_free(kinds[0]);
    free(kinds[1]);
    free(kinds[2]);
    free(registered);
    free(other);
    return course_end("memory", wrong);
}
