/*
 * MPI's windows, without a word of the library: docs/tutorials/windows.md runs it on either. It checks its
 * values and prints whose component has served the window: of Open MPI's components only osc/mpix reports the
 * alignment in force instead of the requested one.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int is_ours(MPI_Win window)
{
    MPI_Info info = MPI_INFO_NULL;
    char value[16] = "";
    int found = 0;
    MPI_Win_get_info(window, &info);
    MPI_Info_get(info, "mpi_minimum_memory_alignment", sizeof value - 1, value, &found);
    MPI_Info_free(&info);
    return found && strcmp(value, "64") == 0;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    long *words = NULL;
    MPI_Win window = MPI_WIN_NULL;
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_minimum_memory_alignment", "8");
    MPI_Win_allocate(2 * sizeof(long), sizeof(long), info, MPI_COMM_WORLD, &words, &window);
    MPI_Info_free(&info);
    words[0] = words[1] = 0;
    MPI_Win_fence(0, window);
    const long mine = 100 + rank;
    MPI_Put(&mine, 1, MPI_LONG, (rank + 1) % size, 0, 1, MPI_LONG, window);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, window); /* locks must not follow an open epoch */
    const long one = 1;
    long before = -1;
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    MPI_Fetch_and_op(&one, &before, MPI_LONG, 0, 1, MPI_SUM, window);
    MPI_Win_unlock(0, window);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window);
    const int wrong = words[0] != 100 + (rank + size - 1) % size || before < 0 || before >= size ||
                      (rank == 0 && words[1] != size);
    if (wrong) {
        fprintf(stderr, "rank %d has %ld and %ld, had %ld\n", rank, words[0], words[1], before);
    }
    MPI_Win_unlock(rank, window);
    if (rank == 0) {
        printf("windows of %s\n", is_ours(window) ? "osc/mpix" : "another component");
    }
    MPI_Win_free(&window);
    MPI_Finalize();
    return wrong;
}
