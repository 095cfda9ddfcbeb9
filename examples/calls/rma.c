/*
 * The calls of MPIX_RMA that the course does not show, each in a function of a few lines: the examples of the
 * manual pages. field[r] is memory of rank r.
 */
#include "../course.h"

enum {
    count = 8
};
static long **field; /* by rank */
static long wrong;

/* Puts that are ordered without attributes: the flag does not arrive before the data. */
static void order_by_fence(void)
{
    long data[count - 1] = {1, 2, 3, 4, 5, 6, 7}, flag = 1;
    MPIX_RMA_xfer(MPIX_RMA_PUT, data, count - 1, MPI_LONG, next, field[next], count - 1, MPI_LONG, NULL,
                  &world, NULL);
    MPIX_RMA_Fence(&world, next);
    MPIX_RMA_xfer(MPIX_RMA_PUT, &flag, 1, MPI_LONG, next, &field[next][count - 1], 1, MPI_LONG, NULL, &world,
                  NULL);
    MPIX_RMA_Complete(&world, next);
    MPI_Barrier(world);
    wrong += field[rank][0] != 1 || field[rank][count - 1] != 1;
    MPI_Barrier(world);
}

/* A buffer that is used again as soon as its data has left, which may be before the data has arrived. */
static void reuse_buffer(void)
{
    long value = 10;
    MPIX_RMA_xfer(MPIX_RMA_PUT, &value, 1, MPI_LONG, next, &field[next][0], 1, MPI_LONG, NULL, &world, NULL);
    MPIX_RMA_Complete_local(&world, next);
    value = 11;
    MPIX_RMA_xfer(MPIX_RMA_PUT, &value, 1, MPI_LONG, next, &field[next][1], 1, MPI_LONG, NULL, &world, NULL);
    MPIX_RMA_Complete(&world, next);
    MPI_Barrier(world);
    wrong += field[rank][0] != 10 || field[rank][1] != 11;
    MPI_Barrier(world);
}

/* Completion in the background. */
static void complete_by_request(void)
{
    long value = 20;
    MPI_Request request;
    MPIX_RMA_xfer(MPIX_RMA_PUT, &value, 1, MPI_LONG, next, &field[next][0], 1, MPI_LONG, NULL, &world, NULL);
    MPIX_RMA_Icomplete(&world, MPIX_ALL_RANKS, &request);
    /* work that does not need the value there */
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(world);
    wrong += field[rank][0] != 20;
    MPI_Barrier(world);
}

/* A ticket: each rank gets a number of its own. */
static void take_ticket(void)
{
    const MPIX_RMA_Attributes atomic = {.set = MPIX_RMA_ATTR_ATOMICITY | MPIX_RMA_ATTR_BLOCKING};
    long ticket, zero = 0, one = 1;
    MPI_Aint counter = (MPI_Aint) &field[0][2];
    MPIX_RMA_rmw(MPIX_RMW_SUM, &one, 1, MPI_LONG, &ticket, 0, counter, NULL, &world, &atomic);
    wrong += ticket < 0 || ticket >= size;
    MPI_Barrier(world);
    if (rank == 0) {
        wrong += field[0][2] != size;
        MPIX_RMA_rmw(MPIX_RMW_SWAP, &zero, 1, MPI_LONG, NULL, 0, counter, NULL, &world, &atomic);
    }
    MPI_Barrier(world);
}

/* Attributes of a request object: set once, for every operation that is issued with the object. */
static void swap_with_request_object(void)
{
    long before = -1, expected = 0, wanted = 30;
    void *value;
    int flag;
    MPI_Aint target = (MPI_Aint) &field[next][3];
    MPI_Request request = MPI_REQUEST_NULL;
    MPIX_Req_set_attr(&request, MPIX_RMA_KEY_ATOMICITY, MPIX_RMA_ON);
    MPIX_Req_get_attr(&request, MPIX_RMA_KEY_ATOMICITY, &value, &flag);
    wrong += !flag;
    MPIX_RMA_rmw2_req(MPIX_RMW2_COMP_SWAP_E, &expected, 1, MPI_LONG, &wanted, &before, next, target, &request,
                      &world);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    wrong += before != 0;

    MPIX_RMA_rmw_req(MPIX_RMW_NO_OP, NULL, 1, MPI_LONG, &before, next, target, &request, &world);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    wrong += before != 30;
    MPI_Request_free(&request);
}

/* The library's own requests: the operation that completes first is used first. */
static void wait_for_own_requests(void)
{
    long got[2] = {-1, -1};
    MPIX_Rma_request requests[2] = {MPIX_RMA_REQUEST_NULL, MPIX_RMA_REQUEST_NULL};
    for (int i = 0; i < 2; ++i) {
        MPIX_RMA_xfer_rma(MPIX_RMA_GET, &got[i], 1, MPI_LONG, next, &field[next][i], 1, MPI_LONG,
                          &requests[i], &world);
    }
    int index, flag = 0;
    MPIX_Rma_request_waitany(2, requests, &index);
    wrong += got[index] != field[rank][index];
    while (!flag) {
        MPIX_Rma_request_testall(2, requests, &flag);
    }
    wrong += got[1 - index] != field[rank][1 - index];
}

/* A request object of the library's own type, with attributes, used again and again. */
static void count_with_own_request(void)
{
    long one = 1, before = -1, zero = 0;
    MPI_Aint target = (MPI_Aint) &field[next][4];
    MPIX_Rma_request request = MPIX_RMA_REQUEST_NULL;
    void *value;
    int flag;
    MPIX_Rma_request_set_attr(&request, MPIX_RMA_KEY_ATOMICITY, MPIX_RMA_ON);
    MPIX_Rma_request_get_attr(&request, MPIX_RMA_KEY_ATOMICITY, &value, &flag);
    wrong += !flag;
    for (int i = 0; i < 3; ++i) {
        MPIX_RMA_rmw_rma(MPIX_RMW_SUM, &one, 1, MPI_LONG, &before, next, target, &request, &world, NULL);
        MPIX_Rma_request_wait(&request);
        wrong += before != i;
    }
    long three = 3;
    MPIX_RMA_rmw2_rma(MPIX_RMW2_COMP_SWAP_E, &three, 1, MPI_LONG, &zero, &before, next, target, &request,
                      &world, NULL);
    for (flag = 0; !flag;) {
        MPIX_Rma_request_test(&request, &flag);
    }
    wrong += before != 3;
    MPIX_Rma_request_free(&request);
}

/* Requests that are all waited for. */
static void wait_for_all_own_requests(void)
{
    long got[3] = {0, 0, 0};
    MPIX_Rma_request requests[3] = {MPIX_RMA_REQUEST_NULL, MPIX_RMA_REQUEST_NULL, MPIX_RMA_REQUEST_NULL};
    for (int i = 0; i < 3; ++i) {
        MPIX_RMA_xfer_rma(MPIX_RMA_GET, &got[i], 1, MPI_LONG, next, &field[next][i], 1, MPI_LONG,
                          &requests[i], &world);
    }
    MPIX_Rma_request_waitall(3, requests);
    wrong += memcmp(got, field[rank], sizeof(got)) != 0;
}

/* A plan: the arguments that are the same for all transfers are checked once. */
static void issue_plan(void)
{
    long value;
    MPIX_RMA_Plan plan;
    MPIX_RMA_Plan_create(MPIX_RMA_PUT, MPI_LONG, next, MPI_LONG, world, NULL, &plan);
    for (int i = 0; i < count; ++i) {
        value = 40 + i;
        MPIX_RMA_Plan_issue(plan, &value, 1, &field[next][i], 1, NULL);
        MPIX_RMA_Complete_local(&world, next);
    }
    MPIX_RMA_Complete(&world, next);
    MPIX_RMA_Plan_free(&plan);
    MPI_Barrier(world);
    wrong += field[rank][0] != 40 || field[rank][count - 1] != 40 + count - 1;
    MPI_Barrier(world);
}

/* Memory that a rank allocates on its own, and that others find in the list of its segments. */
static void list_segments(void)
{
    long *own;
    MPIX_RMA_Allocate_local(count * sizeof(long), MPI_INFO_NULL, (void **) &own);
    MPI_Barrier(world);
    int known, found = 0;
    MPIX_RMA_Segments(world, next, 0, NULL, &known);
    MPIX_RMA_Segment *segments = malloc(sizeof(*segments) * (size_t) known);
    MPIX_RMA_Segments(world, next, known, segments, &known);
    for (int i = 0; i < known; ++i) {
        found += segments[i].size >= (MPI_Aint) (count * sizeof(long));
    }
    free(segments);
    wrong += found < 2; /* field, and the memory that the successor has just allocated */
    MPI_Barrier(world);
    MPIX_RMA_Free_local(own);
}

/* Counters of data that has arrived. */
static void count_arrivals(void)
{
    int counters;
    MPI_Count arrived;
    long value = 50;
    const MPIX_RMA_Attributes notify = {.set = MPIX_RMA_ATTR_NOTIFY, .notify_index = 1};
    MPI_Request request;
    MPIX_RMA_Set_num_notify(world, 2);
    MPIX_RMA_Get_num_notify(world, &counters);
    wrong += counters != 2;
    MPIX_RMA_xfer(MPIX_RMA_PUT, &value, 1, MPI_LONG, next, field[next], 1, MPI_LONG, NULL, &world, &notify);
    MPIX_RMA_Wait_notify_value(world, 1, 1, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    wrong += field[rank][0] != 50;
    MPIX_RMA_Get_notify_value(world, 1, &arrived);
    wrong += arrived != 1;
    MPIX_RMA_Reset_notify_value(world, 1, &arrived);
    wrong += arrived != 1;
    MPIX_RMA_Complete(&world, next);
    MPI_Barrier(world);
    MPIX_RMA_Set_num_notify(world, 0);
}

/* The version of the library, an attribute key, and statistics. */
static void ask_library(void)
{
    int version, subversion, key;
    MPI_Count before, bytes;
    long value = 60;
    MPIX_RMA_Get_version(&version, &subversion);
    wrong += version != MPIX_RMA_VERSION || subversion != MPIX_RMA_SUBVERSION;
    key = MPIX_RMA_Keyval("MPIX_RMA_KEY_ORDERING");
    wrong += key != MPIX_RMA_KEY_ORDERING;

    MPI_Count counted;
    MPIX_RMA_Statistics(world, next, MPIX_RMA_STATISTIC_BYTES, MPIX_RMA_PROTOCOL_ALL, &before);
    MPIX_RMA_xfer(MPIX_RMA_PUT, &value, 1, MPI_LONG, next, field[next], 1, MPI_LONG, NULL, &world, NULL);
    MPIX_RMA_Complete(&world, next);
    MPIX_RMA_Statistics(world, next, MPIX_RMA_STATISTIC_BYTES, MPIX_RMA_PROTOCOL_ALL, &bytes);
    MPIX_RMA_Statistics(world, next, MPIX_RMA_STATISTIC_COUNTED, MPIX_RMA_PROTOCOL_ALL, &counted);
    wrong += counted && bytes - before != sizeof(value);
}

/* Clears the field at every rank. */
static void clear_field(void)
{
    MPI_Barrier(world);
    memset(field[rank], 0, count * sizeof(long));
    MPI_Barrier(world);
}

int main(int argc, char **argv)
{
    course_begin(argc, argv);
    field = (long **) course_allocate(count * sizeof(long));
    order_by_fence();
    reuse_buffer();
    complete_by_request();
    clear_field();
    take_ticket();
    clear_field();
    swap_with_request_object();
    count_with_own_request();
    clear_field();
    wait_for_own_requests();
    wait_for_all_own_requests();
    MPI_Barrier(world);
    issue_plan();
    list_segments();
    count_arrivals();
    ask_library();
    course_free((void **) field);
    return course_end("rma", wrong);
}
