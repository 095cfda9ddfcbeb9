/* Window functions of mpix_host_ops, for calls that ompi_osc_base_module_t lacks. */
#include "osc_mpix_window.h"

int ompi_osc_mpix_window_targets(mpix_handle_t window)
{
    mpix_window_t *own = ompi_osc_mpix_own_window(window);
    return NULL == own ? -1 : mpix_window_ranks(own);
}

int ompi_osc_mpix_window_region(mpix_handle_t window, int rank, int64_t *bytes, int *disp_unit)
{
    mpix_window_t *own = ompi_osc_mpix_own_window(window);
    MPI_Aint size = 0;
    const int ret = NULL == own ? MPI_ERR_WIN : mpix_window_region(own, rank, &size, disp_unit);
    *bytes = (int64_t) size;
    return ret;
}

int ompi_osc_mpix_window_persist(mpix_handle_t window)
{
    mpix_window_t *own = ompi_osc_mpix_own_window(window);
    return NULL == own ? MPI_ERR_WIN : mpix_window_persist(own);
}

int ompi_osc_mpix_window_set_counters(mpix_handle_t window, int num)
{
    mpix_window_t *own = ompi_osc_mpix_own_window(window);
    return NULL == own ? MPI_ERR_WIN : mpix_window_set_counters(own, num);
}

/* Keys of the attributes for the limits of counters, once requested. */
static int counter_attribute_keys[3];
static bool counter_attributes_are_added;

void ompi_osc_mpix_set_counter_attributes(ompi_win_t *win)
{
    if (!counter_attributes_are_added) {
        return;
    }
    static MPI_Count largest = INT64_MAX;
    static MPI_Count none = 0;
    osc_mpix_module_t *module = (osc_mpix_module_t *) win->w_osc_module;
    mpix_window_counter_bounds(module->window, &module->suggested_counters, &module->max_counters);
    void *const values[3] = {&module->suggested_counters, &module->max_counters,
                             0 != module->max_counters ? &largest : &none};
    for (int i = 0; i < 3; ++i) {
        (void) PMPI_Win_set_attr(win, counter_attribute_keys[i], values[i]);
    }
}

void ompi_osc_mpix_window_add_counter_attributes(int suggested_key, int max_key, int value_key)
{
    counter_attribute_keys[0] = suggested_key;
    counter_attribute_keys[1] = max_key;
    counter_attribute_keys[2] = value_key;
    counter_attributes_are_added = true;
    const int size = opal_pointer_array_get_size(&ompi_mpi_windows);
    for (int i = 0; i < size; ++i) {
        ompi_win_t *win = opal_pointer_array_get_item(&ompi_mpi_windows, i);
        if (NULL != ompi_osc_mpix_own_window((mpix_handle_t) win)) {
            ompi_osc_mpix_set_counter_attributes(win);
        }
    }
}

void ompi_osc_mpix_forget_counter_attributes(void)
{
    counter_attributes_are_added = false;
}

uint64_t *ompi_osc_mpix_window_counter(mpix_handle_t window, int index)
{
    mpix_window_t *own = ompi_osc_mpix_own_window(window);
    return NULL == own ? NULL : mpix_window_counter(own, index);
}

int ompi_osc_mpix_window_num_counters(mpix_handle_t window, int rank, int *num)
{
    mpix_window_t *own = ompi_osc_mpix_own_window(window);
    return NULL == own ? MPI_ERR_WIN : mpix_window_num_counters(own, rank, num);
}

int ompi_osc_mpix_window_notified(mpix_handle_t window, const struct mpix_host_notified *operation,
                                  mpix_handle_t *request)
{
    const struct mpix_window_buffer origin = {operation->origin, operation->origin_count,
                                              (MPI_Datatype) operation->origin_type};
    const struct mpix_window_buffer result = {operation->result, operation->result_count,
                                              (MPI_Datatype) operation->result_type};
    const struct mpix_window_place place = {operation->rank, operation->disp, operation->count,
                                            (MPI_Datatype) operation->type};
    const int index = operation->notification;
    mpix_window_t *own = ompi_osc_mpix_own_window(window);
    MPI_Request made = MPI_REQUEST_NULL;
    MPI_Request *wanted = NULL == request ? NULL : &made;
    int ret = MPI_ERR_WIN;
    mpix_windows_set_missing_counter_class(operation->missing_class);
    if (NULL != own && mpix_notified_put == operation->kind) {
        ret = mpix_window_put_notify(own, &origin, &place, index, wanted);
    } else if (NULL != own && mpix_notified_get == operation->kind) {
        ret = mpix_window_get_notify(own, &origin, &place, index, wanted);
    } else if (NULL != own) {
        ret = mpix_window_accumulate_notify(own, &origin, operation->fetches ? &result : NULL, &place,
                                            (MPI_Op) operation->op, index, wanted);
    }
    if (MPI_SUCCESS == ret && NULL != request) {
        *request = (mpix_handle_t) made;
    }
    return ret;
}

static int flush_one(mpix_window_t *window, const struct mpix_host_flush *call, MPI_Request *request)
{
    switch (call->kind) {
    case mpix_flush_order:
        return mpix_window_order(window, call->rank);
    case mpix_flush_request:
        return mpix_window_iflush(window, call->rank, request);
    case mpix_flush_request_local:
        return mpix_window_iflush_local(window, call->rank, request);
    default:
        return mpix_window_flush_thread(window, call->rank);
    }
}

static int flush_all(mpix_window_t *window, const struct mpix_host_flush *call, MPI_Request *request)
{
    switch (call->kind) {
    case mpix_flush_order:
        return mpix_window_order_all(window);
    case mpix_flush_begin:
        return mpix_window_begin_flush_all(window);
    case mpix_flush_request:
        return mpix_window_iflush_all(window, request);
    case mpix_flush_request_local:
        return mpix_window_iflush_local_all(window, request);
    case mpix_flush_thread:
        return mpix_window_flush_thread_all(window);
    default:
        return mpix_window_end_flush_all(window);
    }
}

int ompi_osc_mpix_window_flush(mpix_handle_t window, const struct mpix_host_flush *call,
                               mpix_handle_t *request)
{
    mpix_window_t *own = ompi_osc_mpix_own_window(window);
    MPI_Request made = MPI_REQUEST_NULL;
    if (NULL == own) {
        return MPI_ERR_WIN;
    }
    const int ret = call->all ? flush_all(own, call, &made) : flush_one(own, call, &made);
    if (MPI_REQUEST_NULL != made && NULL != request) {
        *request = (mpix_handle_t) made;
    }
    return ret;
}
