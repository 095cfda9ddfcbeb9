/*
 * The calls of MPIX_RMA on MPI's windows, each in a function of a few lines: the examples of the manual
 * pages.
 */
#include "../course.h"

enum {
    count = 8
};
static MPI_Win win;
static long *own; /* the memory of the window at this rank */
static long wrong;

/* Completes the operations of all ranks, and clears the window. */
static void next_example(void)
{
    MPI_Win_flush_all(win);
    MPI_Barrier(world);
    memset(own, 0, count * sizeof(long));
    MPI_Win_sync(win);
    MPI_Barrier(world);
}

/* After the flushes of all ranks: loads at this rank return the values that they have put. */
static void meet(void)
{
    MPI_Barrier(world);
    MPI_Win_sync(win);
}

/* The flag does not arrive before the data; the origin does not wait. */
static void order_puts(void)
{
    const long data = 1, flag = 2;
    MPI_Put(&data, 1, MPI_LONG, next, 0, 1, MPI_LONG, win);
    MPIX_Win_order(next, win);
    MPI_Put(&flag, 1, MPI_LONG, next, 1, 1, MPI_LONG, win);
    MPIX_Win_order_all(win); /* orders later operations to each target after the earlier ones */
    MPI_Win_flush_all(win);
    meet();
    wrong += own[0] != 1 || own[1] != 2;
}

/* Completion in the background, of one target and of all, at the target and at the origin only. */
static void flush_by_request(void)
{
    const long value = 3;
    MPI_Request requests[4];
    MPI_Put(&value, 1, MPI_LONG, next, 0, 1, MPI_LONG, win);
    MPIX_Win_iflush_local(next, win, &requests[0]);
    MPIX_Win_iflush(next, win, &requests[1]);
    MPI_Put(&value, 1, MPI_LONG, previous, 1, 1, MPI_LONG, win);
    MPIX_Win_iflush_local_all(win, &requests[2]);
    MPIX_Win_iflush_all(win, &requests[3]);
    /* work that does not need the values there */
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    meet();
    wrong += own[0] != 3 || own[1] != 3;
}

/* Completes only the operations of this thread; completes several windows with one call. */
static void flush_windows_and_threads(void)
{
    const long value = 4;
    MPI_Put(&value, 1, MPI_LONG, next, 0, 1, MPI_LONG, win);
    MPIX_Win_flush_thread(next, win);
    MPI_Put(&value, 1, MPI_LONG, previous, 1, 1, MPI_LONG, win);
    MPIX_Win_flush_thread_all(win);
    MPI_Put(&value, 1, MPI_LONG, next, 2, 1, MPI_LONG, win);
    MPIX_Win_flush_windows(1, &win);
    meet();
    wrong += own[0] != 4 || own[1] != 4 || own[2] != 4;
}

/* Two counters at every rank, before the first epoch. */
static void make_counters(void)
{
    int counters;
    MPIX_Win_set_num_notify(win, MPI_INFO_NULL, 2);
    MPIX_Win_get_num_notify(win, next, &counters);
    wrong += counters != 2;
}

/* One counter counts data that has arrived, the other one data that has been fetched. */
static void notify(void)
{
    const long data = 5, more = 6;
    long got = 0, fetched = 0;
    MPI_Count arrived;
    MPI_Request request;
    MPIX_Put_notify(&data, 1, MPI_LONG, next, 0, 1, MPI_LONG, 0, win);
    MPIX_Accumulate_notify(&more, 1, MPI_LONG, next, 1, 1, MPI_LONG, MPI_SUM, 0, win);
    MPIX_Win_wait_notify_value(win, 0, 2, &request); /* one of each from the predecessor */
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    wrong += own[0] != 5 || own[1] != 6;

    MPIX_Get_notify(&got, 1, MPI_LONG, next, 0, 1, MPI_LONG, 1, win);
    MPIX_Get_accumulate_notify(&more, 1, MPI_LONG, &fetched, 1, MPI_LONG, next, 2, 1, MPI_LONG, MPI_SUM, 1,
                               win);
    MPI_Win_flush(next, win);
    meet();
    MPIX_Win_get_notify_value(win, 1, &arrived);
    wrong += arrived != 2 || fetched != 0 || own[2] != 6;
    MPIX_Win_reset_notify_value(win, 0, &arrived); /* zero, for the next round */
    wrong += arrived != 2;
    MPI_Barrier(world);
    wrong += got != 5;
}

/* The same with requests. */
static void notify_by_request(void)
{
    const long data = 7, more = 8;
    long got = 0, fetched = 0;
    MPI_Count arrived;
    MPI_Request requests[2];
    MPIX_Rput_notify(&data, 1, MPI_LONG, next, 0, 1, MPI_LONG, 0, win, &requests[0]);
    MPIX_Raccumulate_notify(&more, 1, MPI_LONG, next, 1, 1, MPI_LONG, MPI_SUM, 0, win, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Win_flush(next, win);
    meet();
    MPIX_Win_get_notify_value(win, 0, &arrived);
    wrong += arrived != 2 || own[0] != 7 || own[1] != 8;
    MPI_Barrier(world);

    MPIX_Rget_notify(&got, 1, MPI_LONG, next, 0, 1, MPI_LONG, 1, win, &requests[0]);
    MPIX_Rget_accumulate_notify(&more, 1, MPI_LONG, &fetched, 1, MPI_LONG, next, 1, 1, MPI_LONG, MPI_SUM, 1,
                                win, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    wrong += got != 7 || fetched != 8;
}

int main(int argc, char **argv)
{
    course_begin(argc, argv);
    MPI_Win_allocate(count * sizeof(long), sizeof(long), MPI_INFO_NULL, world, &own, &win);
    memset(own, 0, count * sizeof(long));
    make_counters();
    MPI_Win_lock_all(0, win);
    next_example();
    order_puts();
    next_example();
    flush_by_request();
    next_example();
    flush_windows_and_threads();
    next_example();
    notify();
    next_example();
    notify_by_request();
    MPI_Barrier(world);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    return course_end("windows", wrong);
}
