/*
 * A hash table spread over all processes: a key claims its slot by compare-and-swap, and its value is a sum
 * that all processes add to. Counts how often each word of a generated text occurs, from all processes at
 * once.
 *
 * Run: mpirun -np 4 ./rmw_hash_table
 */
#include "rmw_words.h"

enum {
    slots = 512, /* of each rank: a key word and a value word */
    keys = 300,
    occurrences = 3000 /* of each rank */
};

static int size;
static int64_t **bases;

static uint64_t hash(uint64_t key)
{
    key = (key ^ (key >> 31)) * UINT64_C(0x7fb5d329728ea185);
    return key ^ (key >> 27);
}

/* Consecutive slots are at consecutive ranks, so the slot after a full one is at the next rank. */
static word_t slot(uint64_t index, int which)
{
    uint64_t wrapped = index % ((uint64_t) slots * (uint64_t) size);
    int owner = (int) (wrapped % (uint64_t) size);
    return word_at(owner, bases[owner], 2 * (int64_t) (wrapped / (uint64_t) size) + which);
}

/* The slot of a nonzero key, created if necessary. */
static uint64_t find(int64_t key)
{
    uint64_t index = hash((uint64_t) key);
    for (;; ++index) {
        int64_t holder = word_compare_swap(slot(index, 0), 0, key);
        if (holder == 0 || holder == key) {
            return index;
        }
    }
}

/* The word at a position of a rank's text. */
static int64_t text(int rank, int position)
{
    return 1 + (int64_t) (hash((uint64_t) (rank * occurrences + position) + 12345) % keys);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    bases = words_allocate(2 * slots);
    for (int i = 0; i < occurrences; ++i) {
        word_add(slot(find(text(rank, i)), 1), 1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    /* Each rank compares its share of the keys with its own count. */
    int64_t wrong = 0;
    for (int64_t key = 1 + rank; key <= keys; key += size) {
        int64_t expected = 0;
        for (int r = 0; r < size; ++r) {
            for (int i = 0; i < occurrences; ++i) {
                expected += text(r, i) == key;
            }
        }
        if (expected != 0) {
            wrong += word_load(slot(find(key), 1)) != expected;
        }
    }
    words_free(bases);
    return finish("hash table", wrong);
}
