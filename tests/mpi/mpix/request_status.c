/* MPI_Request_get_status leaves a failed request of a window as it is: with MPI_THREAD_MULTIPLE, MPI_Waitall
 * then reports the failure, and does not wait without end. The window may have been freed before: MPI_Wait calls
 * its error handler. */
#define _DEFAULT_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

static int handled = 0;

static void count_error(MPI_Win *window, int *code, ...)
{
    ++handled;
}

static int class_of(int code)
{
    int error_class = MPI_SUCCESS;
    MPI_Error_class(code, &error_class);
    return error_class;
}

int main(int argc, char **argv)
{
    long value = 0;
    int provided, rank, failed = 0;
    MPI_Win window;
    MPI_Errhandler counter;
    MPI_Request kept = MPI_REQUEST_NULL;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Win_lock_all(0, window);
    if (0 == rank) {
        MPI_Request request;
        MPI_Status status;
        int complete = 0, error_class;
        MPI_Rget(&value, 1, MPI_LONG, 1, 0x1000, 1, MPI_LONG, window, &request); /* no memory is attached */
        while (!complete) {
            MPI_Request_get_status(request, &complete, MPI_STATUS_IGNORE);
        }
        alarm(60);
        error_class = class_of(MPI_Waitall(1, &request, &status));
        failed = MPI_ERR_IN_STATUS != error_class;
        if (failed) {
            fprintf(stderr, "MPI_Waitall returned class %d\n", error_class);
        }
        MPI_Win_create_errhandler(count_error, &counter);
        MPI_Win_set_errhandler(window, counter);
        MPI_Errhandler_free(&counter);
        MPI_Rget(&value, 1, MPI_LONG, 1, 0x1000, 1, MPI_LONG, window, &kept);
    }
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    if (0 == rank) {
        /* Memory of a window that is no longer there would be used again. */
        MPI_Win others[16];
        for (int i = 0; i < 16; ++i) {
            MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_SELF, &others[i]);
        }
        const int error_class = class_of(MPI_Wait(&kept, MPI_STATUS_IGNORE));
        if (MPI_SUCCESS == error_class || 1 != handled) {
            fprintf(stderr, "MPI_Wait returned class %d, error handlers called: %d\n", error_class, handled);
            failed = 1;
        }
        for (int i = 0; i < 16; ++i) {
            MPI_Win_free(&others[i]);
        }
    }
    MPI_Finalize();
    return failed;
}
