/*
 * Finds the window that nam_producer has left at a memory server, and reads it. Any number of processes may
 * run this program.
 *
 * The last example of "An API Proposal for Including the NAM into the MPI World" (2019). The printed version
 * fills one info object and passes another.
 */
#include <mpi.h>
#include <stdio.h>

#include <mpix_rma.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const char *service_name = argc > 1 ? argv[1] : "my-persistent-nam-window";
    int comm_rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &comm_rank);

    char port_name[MPI_MAX_PORT_NAME];
    MPI_Lookup_name(service_name, MPI_INFO_NULL, port_name);

    MPI_Info info;
    MPI_Comm inter_comm;
    MPI_Win win;
    int group_size;
    MPI_Info_create(&info);
    MPI_Info_set(info, "deep_win_connect", "true");
    MPI_Comm_connect(port_name, info, 0, MPI_COMM_WORLD, &inter_comm);
    MPI_Info_free(&info);
    MPI_Comm_remote_size(inter_comm, &group_size);
    MPI_Win_create_dynamic(MPI_INFO_NULL, inter_comm, &win);

    /* The window has the sizes and displacement units of each process that created it. */
    MPI_Aint *win_sizes;
    int *win_disp_units;
    int flag;
    MPI_Win_get_attr(win, MPIX_WIN_SIZES, &win_sizes, &flag);
    MPI_Win_get_attr(win, MPIX_WIN_DISP_UNITS, &win_disp_units, &flag);

    int wrong = 0;
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < group_size; i++) {
        const int elements = (int) (win_sizes[i] / win_disp_units[i]);
        for (int j = 0; j < elements; j++) {
            int value = -1;
            MPI_Get(&value, 1, MPI_INT, i, j, 1, MPI_INT, win);
            MPI_Win_flush(i, win);
            wrong += value != 100 * j + i;
        }
        wrong += elements != group_size;
    }
    MPI_Win_unlock_all(win);

    int all_wrong;
    MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (comm_rank == 0) {
        printf("Number of former process group that created the NAM window: %d, of %d values wrong: %d\n", group_size,
               group_size * group_size, all_wrong);
    }
    MPI_Win_free(&win);
    MPI_Comm_disconnect(&inter_comm);
    MPI_Finalize();
    return all_wrong != 0;
}
