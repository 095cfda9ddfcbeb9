/*
 * Atomic operations on a 64-bit word of any process, in terms of MPIX_RMA_rmw and MPIX_RMA_rmw2. A word is
 * named by a rank of MPI_COMM_WORLD and its address there. Each function returns the previous value of the
 * word. The operation is then complete at the target, because it has a result (docs/semantics.md,
 * Completion).
 */
#ifndef RMW_WORDS_H
#define RMW_WORDS_H

#include <mpi.h>
#include <mpix_rma.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    int rank;
    int64_t *address;
} word_t;

static inline word_t word_at(int rank, int64_t *base, int64_t index)
{
    word_t word = {rank, base + index};
    return word;
}

static inline int64_t word_rmw(MPIX_RMW_Op op, word_t word, int64_t operand)
{
    static MPIX_RMA_Attributes blocking = {.set = MPIX_RMA_ATTR_BLOCKING};
    MPI_Comm world = MPI_COMM_WORLD;
    int64_t before = 0;
    MPIX_RMA_rmw(op, &operand, 1, MPI_INT64_T, &before, word.rank, (MPI_Aint) word.address, NULL, &world,
                 &blocking);
    return before;
}

static inline int64_t word_load(word_t word)
{
    return word_rmw(MPIX_RMW_NO_OP, word, 0);
}

static inline int64_t word_add(word_t word, int64_t value)
{
    return word_rmw(MPIX_RMW_SUM, word, value);
}

static inline int64_t word_swap(word_t word, int64_t value)
{
    return word_rmw(MPIX_RMW_SWAP, word, value);
}

static inline int64_t word_compare_swap(word_t word, int64_t expected, int64_t wanted)
{
    static MPIX_RMA_Attributes blocking = {.set = MPIX_RMA_ATTR_BLOCKING};
    MPI_Comm world = MPI_COMM_WORLD;
    int64_t before = 0;
    MPIX_RMA_rmw2(MPIX_RMW2_COMP_SWAP_E, &expected, 1, MPI_INT64_T, &wanted, &before, word.rank,
                  (MPI_Aint) word.address, NULL, &world, &blocking);
    return before;
}

/* Allocates `count` zeroed words at every rank. bases[r] is the address of the words of rank r. */
static inline int64_t **words_allocate(int64_t count)
{
    MPI_Comm world = MPI_COMM_WORLD;
    int rank, size;
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    int64_t **bases = calloc((size_t) size, sizeof(*bases));
    MPIX_RMA_Allocate(count * (MPI_Aint) sizeof(int64_t), MPI_INFO_NULL, world, NULL, (void **) bases);
    for (int64_t i = 0; i < count; ++i) {
        bases[rank][i] = 0;
    }
    MPI_Barrier(world);
    return bases;
}

static inline void words_free(int64_t **bases)
{
    MPI_Comm world = MPI_COMM_WORLD;
    int rank;
    MPI_Comm_rank(world, &rank);
    MPI_Barrier(world);
    MPIX_RMA_Free(bases[rank], world);
    free(bases);
}

/* Rank 0 reports whether any rank has found an error; returns main's exit code. */
static inline int finish(const char *what, int64_t wrong)
{
    MPI_Comm world = MPI_COMM_WORLD;
    int64_t all = 0;
    int rank;
    MPI_Comm_rank(world, &rank);
    MPI_Allreduce(&wrong, &all, 1, MPI_INT64_T, MPI_SUM, world);
    if (rank == 0) {
        printf("%s: %s\n", what, all == 0 ? "result correct" : "RESULT WRONG");
    }
    MPI_Finalize();
    return all == 0 ? 0 : 1;
}

#endif
