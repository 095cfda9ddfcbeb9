/*
 * 3. Data, then a flag. Each rank puts data into heap memory of the next one, then a round number into its
 * allocated memory. The flag must not overtake the data.
 *
 * Odd rounds set ORDERING on both operations, even ones call Fence between them. Without either it breaks
 * because the two use different protocols: the flag is a store, and the data go by a message or through the
 * kernel. NOTIFY on the data serves as well, and the target may wait for its counter without polling (example
 * 9). To see it break: mpirun -np 2 --mca osc_mpix_path direct,message ./data_then_flag --without
 */
#include "course.h"

enum {
    count = 20000,
    rounds = 200
};

int main(int argc, char **argv)
{
    course_begin(argc, argv);
    void **flags = course_allocate(sizeof(long));
    long *mine = calloc(count, sizeof(*mine));
    void **heaps = course_addresses(mine);
    long *data = malloc(count * sizeof(*data));
    const MPIX_RMA_Attributes ordering = {.set = MPIX_RMA_ATTR_ORDERING};
    const MPIX_RMA_Attributes blocking = {.set = MPIX_RMA_ATTR_BLOCKING};
    long wrong = 0;
    for (long round = 1; round <= rounds; ++round) {
        for (int i = 0; i < count; ++i) {
            data[i] = round;
        }
        const int fenced = round % 2 == 0;
        const MPIX_RMA_Attributes *const chosen = fenced || without ? NULL : &ordering;
        MPIX_RMA_xfer(MPIX_RMA_PUT, data, count, MPI_LONG, next, heaps[next], count, MPI_LONG, NULL, &world,
                      chosen);
        if (fenced && !without) {
            MPIX_RMA_Fence(&world, next); /* the flag after the data; does not wait */
        }
        MPIX_RMA_xfer(MPIX_RMA_PUT, &round, 1, MPI_LONG, next, flags[next], 1, MPI_LONG, NULL, &world,
                      chosen);

        /* A get of this rank's own memory. A loop of volatile loads, followed by an acquire fence, would do
         * as well (docs/semantics.md, Memory model, Polling). */
        long seen = 0;
        while (seen < round) {
            MPIX_RMA_xfer(MPIX_RMA_GET, &seen, 1, MPI_LONG, rank, flags[rank], 1, MPI_LONG, NULL, &world,
                          &blocking);
        }
        long last = 0;
        MPIX_RMA_xfer(MPIX_RMA_GET, &last, 1, MPI_LONG, rank, mine + count - 1, 1, MPI_LONG, NULL, &world,
                      &blocking);
        wrong += last != round;
        MPIX_RMA_Complete(&world, next); /* before the buffer changes */
        MPI_Barrier(world);
    }
    free(data);
    free(heaps);
    course_free(flags);
    free(mine);
    return course_end("data_then_flag", wrong);
}
