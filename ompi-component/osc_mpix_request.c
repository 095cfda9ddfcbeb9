/*
 * Requests of Open MPI for the engine's operations.
 *
 * The engine completes an operation on any thread, its agent included, even if MPI was initialised
 * without threads. Open MPI's completion is not thread-safe then, so completed requests wait in a
 * lock-free list until an application thread enters opal_progress, as every MPI_Wait and MPI_Test does,
 * or creates the next request. Creation drains the list too, because an application that frees its
 * requests may never wait, and the list would grow with every operation.
 */
#define _GNU_SOURCE /* dladdr */
#include "osc_mpix.h"

#include "ompi/communicator/communicator.h"
#include "ompi/request/grequest.h"
#include "ompi/request/request.h"
#include "opal/class/opal_free_list.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

typedef struct osc_mpix_request_t {
    union {
        ompi_request_t super;
        ompi_grequest_t generalized; /* while the type is OMPI_REQUEST_GEN: see hide_failure */
    };
    ompi_request_type_t type; /* before the failure was hidden */
    struct osc_mpix_request_t *next_completed;
    int mpi_error; /* error code of an operation whose failure Open MPI knows */
    const struct mpix_host_failure *failure; /* of a failed operation, until `end` is called */
    void *failure_context;
    bool reported;         /* the failure was reported to the application */
    atomic_int references; /* one of the engine until completion, one of the user until free */
    void (*on_persistent_freed)(mpix_handle_t); /* hook of libmpix_rma */
    /* Of a request that is not persistent: called if it is freed before completion; or NULL. */
    void (*on_freed_early)(uint64_t);
    uint64_t freed_argument;
    /* A communicator, or the window of a failed operation: its error handler gets the error, even after the
     * user has freed it. */
    opal_object_t *handler_owner;
} osc_mpix_request_t;

static opal_free_list_t requests;
/* Stack of completed requests. Requests are pushed one by one and taken all at once, so there is no ABA
 * problem. */
static _Atomic(osc_mpix_request_t *) completed;
/* Number of threads that pass completions on. */
static atomic_int draining;

static void set_handler_owner(osc_mpix_request_t *request, void *owner)
{
    opal_object_t *before = request->handler_owner;
    if (NULL != owner) {
        OBJ_RETAIN((opal_object_t *) owner);
    }
    request->handler_owner = owner;
    if (NULL != before) {
        OBJ_RELEASE(before);
    }
}

/* Open MPI's free list orders its accesses by fences, which the thread sanitizer does not track. */
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#define BEFORE_RETURN_TO_LIST(object) __tsan_release(object)
#define AFTER_TAKE_FROM_LIST(object) __tsan_acquire(object)
#else
#define BEFORE_RETURN_TO_LIST(object) ((void) 0)
#define AFTER_TAKE_FROM_LIST(object) ((void) 0)
#endif

static void end_failure(osc_mpix_request_t *request, bool reported)
{
    const struct mpix_host_failure *failure = request->failure;
    if (NULL != failure) {
        request->failure = NULL;
        failure->end(request->failure_context, reported);
    }
}

static void release(osc_mpix_request_t *request)
{
    /* Acquire and release: the last owner, and the free list after it, see all changes that the other owner
     * made. */
    if (1 == atomic_fetch_sub_explicit(&request->references, 1, memory_order_acq_rel)) {
        end_failure(request, request->reported);
        /* Open MPI frees a failed request before it calls the error handler, so the communicator or window is
         * kept until the request is reused. */
        if (MPI_SUCCESS == request->mpi_error) {
            set_handler_owner(request, NULL);
        }
        OMPI_REQUEST_FINI(&request->super);
        BEFORE_RETURN_TO_LIST(request);
        opal_free_list_return(&requests, (opal_free_list_item_t *) request);
    }
}

/* Whether the function that calls this one was called, by way of Open MPI, by MPI_Request_get_status. */
static bool is_called_by_get_status(void)
{
    void *frames[8];
    const int count = backtrace(frames, 8);
    for (int i = 1; i < count; ++i) {
        Dl_info symbol;
        const char *name = 0 != dladdr(frames[i], &symbol) ? symbol.dli_sname : NULL;
        if (NULL != name
            && (0 == strcmp(name, "PMPI_Request_get_status") || 0 == strcmp(name, "MPI_Request_get_status"))) {
            return true;
        }
    }
    return false;
}

/* A failed request is presented to Open MPI as a successful generalized request. When MPI_Wait or a similar
 * call completes this request, it calls the query function below, which turns the request back into a failed
 * one of its own type. Otherwise Open MPI would mishandle failed requests in arrays: with
 * MPI_THREAD_MULTIPLE, MPI_Waitall never returns if one of its requests has failed before the call;
 * MPI_Waitany and MPI_Testany free failed requests that they do not report, and the failures are lost. The
 * request also stops being persistent: MPI_Testany does not report the failure of a persistent request, and
 * the other calls free a failed one. */
static int reveal_failure(void *state, ompi_status_public_t *status)
{
    osc_mpix_request_t *request = (osc_mpix_request_t *) state;
    if (is_called_by_get_status()) {
        return MPI_SUCCESS; /* the request remains; a later call reports the failure */
    }
    request->super.req_type = request->type;
    request->super.req_persistent = false;
    request->super.req_status.MPI_ERROR = request->mpi_error;
    status->MPI_ERROR = request->mpi_error;
    return MPI_SUCCESS;
}

static void hide_failure(osc_mpix_request_t *request)
{
    request->type = request->super.req_type;
    request->super.req_type = OMPI_REQUEST_GEN;
}

/* Whether MPI has reported the error of a request that is being freed. MPI_Wait and similar calls free a
 * failed request by the same function and leave no trace in the request. The calls between the MPI function
 * and this one are inlined; if they are not, the failure counts as reported. */
static bool was_reported(const osc_mpix_request_t *request, const void *caller)
{
    if (!REQUEST_COMPLETE(&request->super)) {
        return false; /* only MPI_Request_free frees an incomplete request */
    }
    if (MPI_SUCCESS == request->mpi_error || OMPI_REQUEST_INACTIVE == request->super.req_state) {
        return true;
    }
    if (OMPI_REQUEST_GEN == request->super.req_type) {
        return false; /* no call has looked at the failure */
    }
    Dl_info symbol;
    /* Compare names, because libmpix_rma has a function of this name too. */
    const char *name = 0 != dladdr(caller, &symbol) ? symbol.dli_sname : NULL;
    return NULL == name || (0 != strcmp(name, "PMPI_Request_free") && 0 != strcmp(name, "MPI_Request_free"));
}

static int request_free(ompi_request_t **handle)
{
    osc_mpix_request_t *request = (osc_mpix_request_t *) *handle;
    request->reported = was_reported(request, __builtin_return_address(0));
    if (NULL != request->on_persistent_freed) {
        request->on_persistent_freed((mpix_handle_t) request);
    }
    if (NULL != request->on_freed_early && !REQUEST_COMPLETE(&request->super)) {
        request->on_freed_early(request->freed_argument);
    }
    *handle = MPI_REQUEST_NULL;
    release(request);
    return OMPI_SUCCESS;
}

/* One-sided operations cannot be cancelled. */
static int request_cancel(ompi_request_t *request, int complete)
{
    return MPI_ERR_REQUEST;
}

/* MPI_Start is refused: passing the request to an operation starts it. */
static int request_start_alone(size_t count, ompi_request_t **handles)
{
    return MPI_ERR_REQUEST;
}

/* The type decides whose error handler Open MPI calls for a failed request. Only these two types use the
 * communicator's, and before version 5 only the first. From version 5 on, Open MPI would interpret a request
 * of the first type as a message of its own. */
#if OMPI_MAJOR_VERSION < 5
#define REQUEST_OF_COMMUNICATOR OMPI_REQUEST_PML
#else
#define REQUEST_OF_COMMUNICATOR OMPI_REQUEST_COLL
#endif

static void construct(osc_mpix_request_t *request)
{
    request->super.req_type = REQUEST_OF_COMMUNICATOR;
    request->super.req_start = request_start_alone;
    request->super.req_status._cancelled = 0;
    request->super.req_free = request_free;
    request->super.req_cancel = request_cancel;
    request->generalized.greq_query.c_query = reveal_failure;
    request->generalized.greq_state = request;
    request->generalized.greq_funcs_are_c = true;
    request->handler_owner = NULL;
}

static OBJ_CLASS_INSTANCE(osc_mpix_request_t, ompi_request_t, construct, NULL);

void ompi_osc_mpix_requests_start(void)
{
    OBJ_CONSTRUCT(&requests, opal_free_list_t);
    atomic_store(&completed, NULL);
    opal_free_list_init(&requests, sizeof(osc_mpix_request_t), opal_cache_line_size,
                        OBJ_CLASS(osc_mpix_request_t), 0, 0, 0, -1, 64, NULL, 0, NULL, NULL, NULL);
}

void ompi_osc_mpix_requests_stop(void)
{
    OBJ_DESTRUCT(&requests);
}

static osc_mpix_request_t *allocate(bool persistent, void (*freed)(mpix_handle_t), mpix_handle_t *handle)
{
    ompi_osc_mpix_requests_drain();
    osc_mpix_request_t *request = (osc_mpix_request_t *) opal_free_list_get(&requests);
    if (NULL != request) {
        AFTER_TAKE_FROM_LIST(request);
        OMPI_REQUEST_INIT(&request->super, persistent);
        set_handler_owner(request, NULL);
        request->on_persistent_freed = freed;
        request->on_freed_early = NULL;
        atomic_store_explicit(&request->references, 1, memory_order_relaxed);
        request->mpi_error = MPI_SUCCESS;
        request->failure = NULL;
        *handle = (mpix_handle_t) request;
    }
    return request;
}

static void activate(osc_mpix_request_t *request)
{
    end_failure(request, true); /* failure of the previous operation */
    request->mpi_error = MPI_SUCCESS;
    request->super.req_complete = REQUEST_PENDING;
    request->super.req_state = OMPI_REQUEST_ACTIVE;
    request->super.req_status.MPI_SOURCE = MPI_ANY_SOURCE;
    request->super.req_status.MPI_TAG = MPI_ANY_TAG;
    request->super.req_status.MPI_ERROR = MPI_SUCCESS;
    request->super.req_status._cancelled = 0;
    atomic_fetch_add_explicit(&request->references, 1, memory_order_relaxed);
}

static void start(osc_mpix_request_t *request, mpix_handle_t communicator)
{
    request->super.req_type = REQUEST_OF_COMMUNICATOR;
    request->super.req_mpi_object.comm = (ompi_communicator_t *) communicator;
    set_handler_owner(request, (ompi_communicator_t *) communicator);
    activate(request);
}

void ompi_osc_mpix_request_start(mpix_host_request_t *request, mpix_handle_t communicator)
{
    start((osc_mpix_request_t *) request, communicator);
}

mpix_host_request_t *ompi_osc_mpix_window_request_create(void *window, mpix_handle_t *handle)
{
    osc_mpix_request_t *request = allocate(false, NULL, handle);
    if (NULL != request) {
        request->super.req_type = OMPI_REQUEST_WIN;
        request->super.req_mpi_object.win = window;
        activate(request);
    }
    return (mpix_host_request_t *) request;
}

mpix_host_request_t *ompi_osc_mpix_request_create(mpix_handle_t communicator, mpix_handle_t *handle)
{
    osc_mpix_request_t *request = allocate(false, NULL, handle);
    if (NULL != request) {
        start(request, communicator);
    }
    return (mpix_host_request_t *) request;
}

mpix_host_request_t *ompi_osc_mpix_request_create_persistent(void (*freed)(mpix_handle_t),
                                                             mpix_handle_t *handle)
{
    osc_mpix_request_t *request = allocate(true, freed, handle);
    if (NULL != request) {
        request->super.req_mpi_object.comm = MPI_COMM_WORLD;
    }
    return (mpix_host_request_t *) request;
}

void ompi_osc_mpix_request_when_freed(mpix_host_request_t *handle, void (*freed)(uint64_t argument),
                                      uint64_t argument)
{
    osc_mpix_request_t *request = (osc_mpix_request_t *) handle;
    request->on_freed_early = freed;
    request->freed_argument = argument;
}

int ompi_osc_mpix_request_is_active(mpix_host_request_t *request)
{
    return OMPI_REQUEST_ACTIVE == ((osc_mpix_request_t *) request)->super.req_state;
}

void ompi_osc_mpix_request_complete(mpix_host_request_t *handle,
                                    const struct mpix_host_failure *failure, void *context)
{
    osc_mpix_request_t *request = (osc_mpix_request_t *) handle;
    request->failure = failure;
    request->failure_context = context;
    request->next_completed = atomic_load_explicit(&completed, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&completed, &request->next_completed, request,
                                                  memory_order_release, memory_order_relaxed)) {
    }
}

static void complete_to_mpi(osc_mpix_request_t *request)
{
    /* The engine's reference is the last one if the request was freed. */
    const bool freed = 1 == atomic_load_explicit(&request->references, memory_order_relaxed);
    if (NULL != request->failure && !freed) {
        request->mpi_error = request->failure->code(request->failure_context);
        if (OMPI_REQUEST_WIN == request->super.req_type) {
            set_handler_owner(request, request->super.req_mpi_object.win);
        }
        hide_failure(request);
    }
    request->super.req_status._ucount = 0;
    ompi_request_complete(&request->super, true);
    release(request);
}

void ompi_osc_mpix_request_finish(mpix_host_request_t *handle)
{
    osc_mpix_request_t *request = (osc_mpix_request_t *) handle;
    request->failure = NULL;
    complete_to_mpi(request);
}

mpix_handle_t ompi_osc_mpix_request_completed(void)
{
    return (mpix_handle_t) &ompi_request_empty;
}

int ompi_osc_mpix_requests_drain(void)
{
    if (NULL == atomic_load_explicit(&completed, memory_order_relaxed)) {
        return 0;
    }
    int count = 0;
    atomic_fetch_add_explicit(&draining, 1, memory_order_relaxed);
    /* Acquire: pairs with the release in ompi_osc_mpix_request_complete, for the fields of the request.
     * Release: pairs with the acquire in ompi_osc_mpix_requests_deliver, for `draining`. */
    osc_mpix_request_t *request = atomic_exchange_explicit(&completed, NULL, memory_order_acq_rel);
    while (NULL != request) {
        osc_mpix_request_t *next = request->next_completed; /* the request may be reused once completed */
        complete_to_mpi(request);
        request = next;
        ++count;
    }
    atomic_fetch_sub_explicit(&draining, 1, memory_order_release);
    return count;
}

int ompi_osc_mpix_requests_deliver(void)
{
    int count = 0;
    while (NULL != atomic_load_explicit(&completed, memory_order_acquire)) {
        count += ompi_osc_mpix_requests_drain();
    }
    /* Acquire: pairs with the release in ompi_osc_mpix_requests_drain, for the failures that the other thread
     * has recorded. */
    while (0 != atomic_load_explicit(&draining, memory_order_acquire)) {
        sched_yield();
    }
    return count;
}
