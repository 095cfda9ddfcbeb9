/* A process ends, operations on it fail, and their communicator is freed before any call has reported the
 * failures: MPI_Finalize reports them. Rank 2 ends. */
#define _DEFAULT_SOURCE
#include <mpi.h>
#include <mpix_rma.h>
#include <signal.h>
#include <unistd.h>

/* Open MPI may wait in MPI_Finalize for the process that has ended, after the failures are reported. */
static void end(int number)
{
    (void) number;
    _exit(0);
}

int main(int argc, char **argv)
{
    static long memory[2];
    long *addresses[3], *own = memory;
    int rank = 0;
    MPI_Comm world = MPI_COMM_WORLD, comm;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(world, &rank);
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    MPI_Allgather(&own, sizeof own, MPI_BYTE, addresses, sizeof own, MPI_BYTE, world);
    MPI_Comm_dup(world, &comm);
    MPI_Barrier(world);
    if (2 == rank) {
        _exit(0);
    }
    usleep(300000);
    if (1 == rank) {
        const long value = 1;
        MPIX_RMA_rmw(MPIX_RMW_SUM, &value, 1, MPI_LONG, NULL, 2, (MPI_Aint) addresses[2], NULL, &comm, NULL);
        usleep(500000); /* the operation has failed */
    }
    MPI_Comm_free(&comm);
    signal(SIGALRM, end);
    alarm(5);
    MPI_Finalize();
    return 0;
}
