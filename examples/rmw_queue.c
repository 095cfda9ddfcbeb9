/*
 * A bounded queue for any number of producers and consumers (after Vyukov), in the memory of rank 0, made of
 * atomic reads, swaps and compare-and-swaps. The turn number of a slot tells which position of the queue uses
 * the slot next, to put or to take an item.
 *
 * Run: mpirun -np 4 ./rmw_queue
 */
#include "rmw_words.h"

#include <sched.h>

enum {
    capacity = 64,
    items = 400, /* of each rank */
    /* words of rank 0 */
    head = 0, /* items taken */
    tail = 8, /* items put */
    slots = 16,
    taken_times = slots + 2 * capacity /* how often each item was taken */
};

static int64_t *queue;

static word_t at(int64_t index)
{
    return word_at(0, queue, index);
}
static word_t turn_of(int64_t position)
{
    return at(slots + 2 * (position % capacity));
}
static word_t value_of(int64_t position)
{
    return at(slots + 2 * (position % capacity) + 1);
}

/* Claims the next position of `counter` if the turn number of its slot is the position plus `turn`. Returns
 * -1 if the queue is full or empty. */
static int64_t claim(int64_t counter, int64_t turn)
{
    for (;;) {
        int64_t position = word_load(at(counter));
        int64_t ahead = word_load(turn_of(position)) - position - turn;
        if (ahead < 0) {
            return -1;
        }
        if (ahead == 0 && word_compare_swap(at(counter), position, position + 1) == position) {
            return position;
        }
    }
}

static int put(int64_t value)
{
    int64_t position = claim(tail, 0);
    if (position < 0) {
        return 0;
    }
    word_swap(value_of(position), value);
    word_swap(turn_of(position), position + 1);
    return 1;
}

static int take(int64_t *value)
{
    int64_t position = claim(head, 1);
    if (position < 0) {
        return 0;
    }
    *value = word_load(value_of(position));
    word_swap(turn_of(position), position + capacity);
    return 1;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int64_t **bases = words_allocate(taken_times + (int64_t) items * size);
    queue = bases[0];
    if (rank == 0) {
        for (int64_t i = 0; i < capacity; ++i) {
            queue[slots + 2 * i] = i;
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    /* Each process puts its own items and takes as many items of any process. */
    int produced = 0;
    int consumed = 0;
    while (produced < items || consumed < items) {
        int64_t value = 0;
        int done = 0;
        if (produced < items && put((int64_t) items * rank + produced)) {
            ++produced;
            done = 1;
        }
        if (consumed < items && take(&value)) {
            word_add(at(taken_times + value), 1);
            ++consumed;
            done = 1;
        }
        if (!done) {
            sched_yield();
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    int64_t wrong = 0;
    for (int64_t i = 0; rank == 0 && i < (int64_t) items * size; ++i) {
        wrong += word_load(at(taken_times + i)) != 1;
    }
    words_free(bases);
    return finish("queue of many producers and consumers", wrong);
}
