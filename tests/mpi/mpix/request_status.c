/* MPI_Request_get_status leaves a failed request of a window as it is: with MPI_THREAD_MULTIPLE, MPI_Waitall
 * then reports the failure, and does not wait without end. */
#define _DEFAULT_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    long value = 0;
    int provided, rank, failed = 0;
    MPI_Win window;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Win_lock_all(0, window);
    if (0 == rank) {
        MPI_Request request;
        MPI_Status status;
        int complete = 0, error_class = MPI_SUCCESS;
        MPI_Rget(&value, 1, MPI_LONG, 1, 0x1000, 1, MPI_LONG, window, &request); /* no memory is attached */
        while (!complete) {
            MPI_Request_get_status(request, &complete, MPI_STATUS_IGNORE);
        }
        alarm(60);
        MPI_Error_class(MPI_Waitall(1, &request, &status), &error_class);
        failed = MPI_ERR_IN_STATUS != error_class;
        if (failed) {
            fprintf(stderr, "MPI_Waitall returned class %d\n", error_class);
        }
    }
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    MPI_Finalize();
    return failed;
}
