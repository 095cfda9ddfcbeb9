/*
 * The calls on windows at a memory server, each in a function of a few lines: the examples of the manual
 * pages.
 *
 *   mpix-namd --size 64M &
 *   export MPIX_NAM_ALLOCATION=$(mpix-nam --wait 60 grant 1M)
 *   mpirun -np 2 ./nam
 */
#include "../course.h"

static char port[MPI_MAX_PORT_NAME];
static long wrong;

/* A window that stays at the server when the job has ended; other jobs find it by its port name. */
static void leave_window(void)
{
    const long value = 100 + rank;
    char text[MPI_MAX_INFO_VAL + 1];
    int flag;
    MPI_Win win;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "deep_mem_kind", "deep_nam_persistent");
    MPIX_Win_allocate_nam(sizeof(long), sizeof(long), info, world, &win);
    MPI_Info_free(&info);

    MPI_Win_fence(0, win);
    MPI_Put(&value, 1, MPI_LONG, rank, 0, 1, MPI_LONG, win);
    MPI_Win_fence(0, win);
    MPIX_Win_persist(win); /* on the server's storage, if it has any */

    MPI_Win_get_info(win, &info);
    MPI_Info_get(info, "deep_win_port_name", MPI_MAX_INFO_VAL, text, &flag);
    MPI_Info_free(&info);
    strncpy(port, text, sizeof(port) - 1);
    MPI_Win_free(&win);
}

/* Reads the window, as another job would: the targets are the ranks that created the window. */
static void read_window(void)
{
    long value = 0;
    MPI_Aint bytes;
    int unit;
    MPI_Win win;
    MPIX_Win_connect(port, MPI_INFO_NULL, 0, world, &win);
    MPIX_Win_query(win, next, &bytes, &unit);
    wrong += bytes != sizeof(long) || unit != sizeof(long);
    MPI_Win_fence(0, win);
    MPI_Get(&value, 1, MPI_LONG, next, 0, 1, MPI_LONG, win);
    MPI_Win_fence(0, win);
    wrong += value != 100 + next;
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    course_begin(argc, argv);
    leave_window();
    read_window();
    return course_end("nam", wrong);
}
