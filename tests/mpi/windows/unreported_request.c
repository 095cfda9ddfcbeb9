/* A program without MPIX, in which a get on a window fails at the target. The request outlives the window, and
 * is then waited for or, with the argument "free", freed. Started with two ranks and osc_mpix_path=message.
 */
#define _DEFAULT_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank = 0, failed = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Win window = MPI_WIN_NULL;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
    void *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MPI_Aint address = 0;
    MPI_Get_address(page, &address);
    MPI_Bcast(&address, 1, MPI_AINT, 1, MPI_COMM_WORLD);
    MPI_Request request = MPI_REQUEST_NULL;
    long value = 0;
    if (0 == rank) {
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, window);
        failed |= MPI_SUCCESS != MPI_Rget(&value, 1, MPI_LONG, 1, address, 1, MPI_LONG, window, &request);
        failed |= MPI_SUCCESS != MPI_Win_unlock(1, window);
    }
    failed |= MPI_SUCCESS != MPI_Win_free(&window);
    if (0 == rank) {
        if (argc > 1 && 0 == strcmp(argv[1], "free")) {
            failed |= MPI_SUCCESS != MPI_Request_free(&request);
        } else {
            failed |= MPI_SUCCESS == MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
    }
    MPI_Finalize();
    return failed;
}
