/* The program around the snippets of docs/nam.md: leaves a window and finds it by its name, and makes a
 * striped window. */
#include <mpi.h>
#include <mpix_rma.h>
#include <string.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const MPI_Comm comm = MPI_COMM_WORLD;
    const MPI_Aint bytes = 4096;
    MPI_Info info;
    MPI_Win win;
    MPI_Comm connection;
    MPI_Aint *sizes;
    int flag, value = 7, found = 0;
    char port[MPI_MAX_INFO_VAL + 1];

    MPI_Lookup_name("field", MPI_INFO_NULL, port);
    MPI_Unpublish_name("field", MPI_INFO_NULL, port); /* the name that nam_producer published */
    MPI_Info_create(&info);
    /* snippet 1 */
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Put(&value, 1, MPI_INT, 0, 1, 1, MPI_INT, win);
    MPI_Win_flush(0, win);
    MPI_Get(&found, 1, MPI_INT, 0, 1, 1, MPI_INT, win);
    MPI_Win_unlock(0, win);
    int right = flag && sizes[0] == bytes && found == value;
    MPI_Win_free(&win);
    MPI_Comm_disconnect(&connection);
    MPI_Info_free(&info);

    MPI_Info_create(&info);
    MPI_Info_set(info, "deep_mem_kind", "deep_nam");
    /* snippet 2 */
    right = right && MPI_Win_allocate(1 << 20, 1, info, comm, NULL, &win) == MPI_SUCCESS;
    MPI_Win_free(&win);
    MPI_Info_free(&info);
    MPI_Finalize();
    return right ? 0 : 1;
}
