/* Operations that fail at the target and whose errors the program does not ask for. Rank 0 issues them; the
 * argument says how. Started with two ranks and osc_mpix_path=message, where failures come after the call. */
#define _DEFAULT_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "include/mpix_rma.h"

static MPI_Aint bad_address_of_rank_1(void)
{
    void *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MPI_Aint address = 0;
    MPI_Get_address(page, &address);
    MPI_Bcast(&address, 1, MPI_AINT, 1, MPI_COMM_WORLD);
    return address;
}

static void accumulate(MPI_Comm comm, MPI_Aint address, int times)
{
    static long ones[3] = {1, 1, 1};
    MPIX_RMA_Attributes sum = {.set = MPIX_RMA_ATTR_ACCUMULATE_OP, .accumulate_op = MPI_SUM};
    for (int i = 0; i < times; ++i) {
        MPIX_RMA_xfer(MPIX_RMA_ACCUMULATE, ones, 3, MPI_LONG, 1, (void *) address, 3, MPI_LONG, NULL, &comm, &sum);
    }
}

/* The request is freed immediately: Complete has to report the failure. */
static int get_with_freed_request(MPI_Aint address)
{
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Request request = MPI_REQUEST_NULL;
    long value = 0;
    int address_class = 0, transport_class = 0, told = 0;
    MPIX_RMA_Error_class(MPIX_RMA_ERR_ADDRESS, &address_class);
    MPIX_RMA_Error_class(MPIX_RMA_ERR_TRANSPORT, &transport_class);
    const int issued =
        MPIX_RMA_xfer(MPIX_RMA_GET, &value, 1, MPI_LONG, 1, (void *) address, 1, MPI_LONG, &request, &world, NULL);
    if (MPI_SUCCESS != issued || MPI_REQUEST_NULL == request) {
        fprintf(stderr, "the get failed at once\n");
        return 1;
    }
    MPI_Request_free(&request);
    const int code = MPIX_RMA_Complete(&world, 1);
    char text[MPI_MAX_ERROR_STRING] = "", named[64];
    int length = 0;
    MPI_Error_class(code, &told);
    MPI_Error_string(code, text, &length);
    snprintf(named, sizeof named, "of 8 bytes at address %p of rank 1 failed", (void *) address);
    if (told != address_class || NULL == strstr(text, named)) {
        fprintf(stderr, "Complete returned class %d, %s\n", told, text);
        return 1;
    }
    return MPI_SUCCESS != MPIX_RMA_Complete(&world, 1);
}

/* Returns nonzero if MPI_Request_get_status reports the failure, or does not find the request complete. */
static int status_is_wrong(MPI_Request request)
{
    int complete = 0;
    return MPI_SUCCESS != MPI_Request_get_status(request, &complete, MPI_STATUS_IGNORE) || !complete;
}

/* After Complete, from which MPI knows that the request is complete, the request is waited for or freed. */
static int get_that_is_seen(MPI_Aint address, int waits, int asks_status, MPI_Request *request)
{
    static long value;
    MPI_Comm world = MPI_COMM_WORLD;
    if (MPI_SUCCESS !=
            MPIX_RMA_xfer_req(MPIX_RMA_GET, &value, 1, MPI_LONG, 1, (void *) address, 1, MPI_LONG, request, &world) ||
        MPI_SUCCESS != MPIX_RMA_Complete(&world, 1)) {
        fprintf(stderr, "the failure is told too early\n");
        return 1;
    }
    if (asks_status && status_is_wrong(*request)) {
        fprintf(stderr, "MPI_Request_get_status tells the failure\n");
        return 1;
    }
    return waits ? MPI_SUCCESS == MPI_Wait(request, MPI_STATUS_IGNORE) : MPI_SUCCESS != MPI_Request_free(request);
}

/* The same with a request object that has attributes, which Open MPI frees if MPI_Wait returns the error. */
static int get_by_object(MPI_Aint address, int waits)
{
    MPI_Request object = MPI_REQUEST_NULL;
    int failed = MPI_SUCCESS != MPIX_Req_set_attr(&object, MPIX_RMA_KEY_ORDERING, MPIX_RMA_ON);
    failed |= get_that_is_seen(address, waits, 0, &object);
    if (MPI_REQUEST_NULL != object) {
        failed |= MPI_SUCCESS != MPI_Request_free(&object);
    }
    return failed;
}

/* The first round succeeds and is waited for, the second one fails and is not. */
static int get_twice_by_object(MPI_Aint address)
{
    static long source, value;
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Request object = MPI_REQUEST_NULL;
    int failed = MPI_SUCCESS != MPIX_Req_set_attr(&object, MPIX_RMA_KEY_ORDERING, MPIX_RMA_ON);
    failed |= MPI_SUCCESS !=
              MPIX_RMA_xfer_req(MPIX_RMA_GET, &value, 1, MPI_LONG, 0, &source, 1, MPI_LONG, &object, &world);
    failed |= MPI_SUCCESS != MPI_Wait(&object, MPI_STATUS_IGNORE);
    failed |= get_that_is_seen(address, 0, 0, &object);
    return failed;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank = 0, failed = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const char *mode = argc > 1 ? argv[1] : "";
    if (0 != strcmp(mode, "fatal")) {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    }
#ifdef MPICH_VERSION
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN); /* the public host raises errors of requests there */
#endif
    const MPI_Aint address = bad_address_of_rank_1();
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    if (0 == rank) {
        if (0 == strcmp(mode, "request")) {
            failed = get_with_freed_request(address);
        } else if (0 == strcmp(mode, "seen") || 0 == strcmp(mode, "asked") || 0 == strcmp(mode, "waited")) {
            MPI_Request request = MPI_REQUEST_NULL;
            failed = get_that_is_seen(address, 0 == strcmp(mode, "waited"), 0 == strcmp(mode, "asked"),
                                      &request);
        } else if (0 == strcmp(mode, "object") || 0 == strcmp(mode, "object_waited")) {
            failed = get_by_object(address, 0 == strcmp(mode, "object_waited"));
        } else if (0 == strcmp(mode, "object_twice")) {
            failed = get_twice_by_object(address);
        } else if (0 == strcmp(mode, "communicator")) {
            accumulate(copy, address, 3);
        } else {
            accumulate(MPI_COMM_WORLD, address, 3);
        }
    }
    MPI_Comm_free(&copy);
    MPI_Finalize();
    return failed;
}
