/* The loops of bench/python_overhead in C, which Python calls: nanoseconds per operation. */
#include <mpix_rma.h>
#include <time.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e9 * (double) time.tv_sec + (double) time.tv_nsec;
}

/* Puts of 8 bytes, completed together. */
MPIX_RMA_API double bench_stream(MPI_Comm *comm, int rank, void *target, double *origin, int count)
{
    double begin = now();
    for (int i = 0; i < count; ++i) {
        MPIX_RMA_xfer(MPIX_RMA_PUT, origin, 1, MPI_DOUBLE, rank, target, 1, MPI_DOUBLE, NULL, comm, NULL);
    }
    MPIX_RMA_Complete(comm, rank);
    return (now() - begin) / count;
}

/* Each completed by itself. */
MPIX_RMA_API double bench_completed(MPI_Comm *comm, int rank, void *target, double *origin, int count)
{
    double begin = now();
    for (int i = 0; i < count; ++i) {
        MPIX_RMA_xfer(MPIX_RMA_PUT, origin, 1, MPI_DOUBLE, rank, target, 1, MPI_DOUBLE, NULL, comm, NULL);
        MPIX_RMA_Complete(comm, rank);
    }
    return (now() - begin) / count;
}

/* Each complete in the target's memory when its call returns. */
MPIX_RMA_API double bench_blocking(MPI_Comm *comm, int rank, void *target, double *origin, int count)
{
    MPIX_RMA_Attributes attributes = {.set = MPIX_RMA_ATTR_BLOCKING | MPIX_RMA_ATTR_REMOTE_COMPLETION};
    double begin = now();
    for (int i = 0; i < count; ++i) {
        MPIX_RMA_xfer(MPIX_RMA_PUT, origin, 1, MPI_DOUBLE, rank, target, 1, MPI_DOUBLE, NULL, comm, &attributes);
    }
    return (now() - begin) / count;
}
