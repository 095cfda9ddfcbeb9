/*
 * 5. A lock around a structure. rmw2 takes and releases a lock word of rank 0; its holder gets a structure of
 * rank 0, changes it and puts it back.
 *
 * Without Complete before the release it breaks because the put may still be on its way when the next holder
 * gets the structure: the release is another operation, and no order holds between the two. Nor may the
 * buffer of the put be reused before the put is complete. (A Fence orders the release, but does not free the
 * buffer.) To see it break:
 * mpirun -np 4 --mca osc_mpix_path direct,message ./lock --without
 */
#include "course.h"

struct account {
    long balance;
    char history[1 << 20];
    long transfers;
};

enum {
    rounds = 50
};

static int swap_if(void *word, long expected, long wanted)
{
    const MPIX_RMA_Attributes blocking = {.set = MPIX_RMA_ATTR_BLOCKING};
    long before = -1;
    MPIX_RMA_rmw2(MPIX_RMW2_COMP_SWAP_E, &expected, 1, MPI_LONG, &wanted, &before, 0, (MPI_Aint) word, NULL,
                  &world, &blocking);
    return before == expected;
}

int main(int argc, char **argv)
{
    course_begin(argc, argv);
    void **words = course_allocate(sizeof(long));
    struct account *mine = calloc(1, sizeof(*mine)); /* heap memory: not reached by loads and stores */
    void **accounts = course_addresses(mine);
    const int bytes = sizeof(*mine);
    const MPIX_RMA_Attributes blocking = {.set = MPIX_RMA_ATTR_BLOCKING};
    struct account *copy = malloc(sizeof(*copy));
    for (int round = 0; round < rounds; ++round) {
        while (!swap_if(words[0], 0, rank + 1)) {
        }
        MPIX_RMA_xfer(MPIX_RMA_GET, copy, bytes, MPI_BYTE, 0, accounts[0], bytes, MPI_BYTE, NULL, &world,
                      &blocking);
        copy->balance += 1;
        copy->transfers += 1;
        MPIX_RMA_xfer(MPIX_RMA_PUT, copy, bytes, MPI_BYTE, 0, accounts[0], bytes, MPI_BYTE, NULL, &world,
                      NULL);
        if (!without) {
            MPIX_RMA_Complete(&world, 0);
        }
        swap_if(words[0], rank + 1, 0);
    }
    MPIX_RMA_Complete(&world, 0);
    MPI_Barrier(world);
    const long expected = (long) rounds * size;
    const long wrong = rank == 0 && (mine->balance != expected || mine->transfers != expected);
    MPI_Barrier(world);
    free(copy);
    free(accounts);
    course_free(words);
    free(mine);
    return course_end("lock", wrong);
}
