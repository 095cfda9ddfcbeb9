/*
 * A queueing lock (Mellor-Crummey and Scott) of swaps and compare-and-swaps: each process waits on a word of
 * its own, and the lock goes from one to the next in the order of arrival.
 *
 * Run: mpirun -np 4 ./rmw_lock
 */
#include "rmw_words.h"

#include <sched.h>

enum {
    rounds = 500,
    /* words of each rank */
    tail = 0,    /* rank 0's: last in the queue, as rank + 1; 0 when the lock is free */
    next = 1,    /* the successor of this process in the queue, likewise */
    waiting = 2, /* 1 until the lock is handed over */
    counter = 3, /* rank 0's: what the lock protects */
    words = 4
};

static int rank;
static int64_t **bases;

static word_t word(int owner, int64_t which)
{
    return word_at(owner, bases[owner], which);
}

static void acquire(void)
{
    word_swap(word(rank, next), 0);
    word_swap(word(rank, waiting), 1);
    int64_t before = word_swap(word(0, tail), rank + 1);
    if (before == 0) {
        return;
    }
    word_swap(word((int) before - 1, next), rank + 1);
    while (word_load(word(rank, waiting)) != 0) {
        sched_yield(); /* there may be more processes than processors */
    }
}

static void release(void)
{
    if (word_compare_swap(word(0, tail), rank + 1, 0) == rank + 1) {
        return;
    }
    int64_t heir = 0;
    while ((heir = word_load(word(rank, next))) == 0) {
        sched_yield(); /* the successor is in the queue, but has not stored its rank yet */
    }
    word_swap(word((int) heir - 1, waiting), 0);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    bases = words_allocate(words);
    for (int round = 0; round < rounds; ++round) {
        acquire();
        /* Two steps that are atomic only because of the lock. */
        int64_t value = word_load(word(0, counter));
        word_swap(word(0, counter), value + 1);
        release();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    int64_t wrong = word_load(word(0, counter)) != (int64_t) rounds * size;
    words_free(bases);
    return finish("queueing lock", wrong);
}
