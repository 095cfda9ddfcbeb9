/*
 * The common part of the examples: the set-up, memory at every rank, and the verdict.
 * An example takes the argument --without: then it leaves out the attribute or call that it explains.
 */
#ifndef COURSE_H
#define COURSE_H

#include <mpi.h>
#include <mpix_rma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static MPI_Comm world; /* a duplicate, so that its attributes apply to the example alone */
static int rank, size, next, previous;
static int without; /* --without was given */

/* Starts MPI and reads the argument. */
static inline void course_begin(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &world);
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    next = (rank + 1) % size;
    previous = (rank + size - 1) % size;
    without = argc > 1 && strcmp(argv[1], "--without") == 0;
}

/* Allocates `bytes` zeroed bytes at every rank; returns the addresses by rank. */
static inline void **course_allocate(size_t bytes)
{
    void **bases = malloc(sizeof(*bases) * (size_t) size);
    MPIX_RMA_Allocate((MPI_Aint) bytes, MPI_INFO_NULL, world, NULL, bases);
    memset(bases[rank], 0, bytes);
    MPI_Barrier(world);
    return bases;
}

/* Returns the addresses of `mine` at every rank. */
static inline void **course_addresses(void *mine)
{
    void **all = malloc(sizeof(*all) * (size_t) size);
    MPI_Allgather(&mine, sizeof(mine), MPI_BYTE, all, sizeof(mine), MPI_BYTE, world);
    return all;
}

static inline void course_free(void **bases)
{
    MPI_Barrier(world);
    MPIX_RMA_Free(bases[rank], world);
    free(bases);
}

/* Adds up the errors of all ranks, prints the sum, and ends MPI. Returns main's exit status: with --without,
 * errors are what the example shows. */
static inline int course_end(const char *example, long wrong)
{
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_LONG, MPI_SUM, world);
    if (rank == 0) {
        printf("%s%s: %ld wrong\n", example, without ? " --without" : "", wrong);
    }
    MPI_Comm_free(&world);
    MPI_Finalize();
    return wrong == 0 || without ? 0 : 1;
}

#endif
