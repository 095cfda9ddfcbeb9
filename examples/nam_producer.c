/*
 * Leaves a window at a memory server for later jobs, and publishes its name, by which nam_consumer finds it.
 *
 *   mpix-namd --size 1G &
 *   export MPIX_NAM_ALLOCATION=$(mpix-nam --wait 60 grant 256M)
 *   mpirun -np 2 ./nam_producer field
 *   mpirun -np 1 ./nam_consumer field
 *
 * The first two examples of "An API Proposal for Including the NAM into the MPI World" (2019), as one
 * program. In the printed version MPI_Put reads a loop variable that has changed by the time of the fence,
 * and all processes put to the same place at once.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpix_rma.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const char *service_name = argc > 1 ? argv[1] : "my-persistent-nam-window";
    int comm_rank, comm_size;
    MPI_Comm_rank(MPI_COMM_WORLD, &comm_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &comm_size);

    /* One element per process. There is no base address, because the memory is at the server. */
    MPI_Info info;
    MPI_Win win;
    MPI_Info_create(&info);
    MPI_Info_set(info, "deep_mem_kind", "deep_nam_persistent");
    MPI_Win_allocate((MPI_Aint) sizeof(int) * comm_size, sizeof(int), info, MPI_COMM_WORLD, NULL, &win);
    MPI_Info_free(&info);

    char port_name[MPI_MAX_PORT_NAME];
    char info_value[MPI_MAX_INFO_VAL + 1];
    int flag;
    MPI_Win_get_info(win, &info);
    MPI_Info_get(info, "deep_win_port_name", MPI_MAX_INFO_VAL, info_value, &flag);
    MPI_Info_free(&info);
    if (!flag) {
        printf("No port name found!\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    strcpy(port_name, info_value);

    int *values = malloc(sizeof(int) * (size_t) comm_size);
    MPI_Win_fence(0, win);
    for (int i = 0; i < comm_size; i++) {
        values[i] = 100 * comm_rank + i;
        MPI_Put(&values[i], 1, MPI_INT, i, comm_rank, 1, MPI_INT, win);
    }
    MPI_Win_fence(0, win);
    free(values);

    /* The data stay: a later look-up of the name finds them complete. */
    MPI_Win_free(&win);
    if (comm_rank == 0) {
        /* An earlier run may have published the name for its own window. */
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        MPI_Unpublish_name(service_name, MPI_INFO_NULL, port_name);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
        MPI_Publish_name(service_name, MPI_INFO_NULL, port_name);
        printf("The window's port name: %s\n", port_name);
    }
    MPI_Finalize();
    return 0;
}
