/* Life and synchronisation of windows. */
#include "osc_mpix_versions.h"
#include "osc_mpix_window.h"

#include "ompi/proc/proc.h"
#include "opal/util/info_subscriber.h"

#include <stdlib.h>
#include <string.h>

static int window_shared_query(ompi_win_t *win, int rank, size_t *size, int *disp_unit, void *base)
{
    MPI_Aint bytes = 0;
    const int ret = mpix_window_shared_query(ompi_osc_mpix_window(win), rank, &bytes, disp_unit, base);
    if (MPI_SUCCESS == ret) {
        *size = (size_t) bytes;
    }
    return ret;
}

static int window_attach(ompi_win_t *win, void *base, size_t size)
{
    return mpix_window_attach(ompi_osc_mpix_window(win), base, (MPI_Aint) size);
}

static int window_detach(ompi_win_t *win, const void *base)
{
    return mpix_window_detach(ompi_osc_mpix_window(win), base);
}

static int window_free(ompi_win_t *win)
{
    const int ret = mpix_window_free(ompi_osc_mpix_window(win));
    if (MPI_SUCCESS == ret) {
        free(win->w_osc_module);
        win->w_osc_module = NULL;
    }
    return ret;
}

static int window_fence(int assertion, ompi_win_t *win)
{
    return mpix_window_fence(ompi_osc_mpix_window(win), assertion);
}

static int window_start(ompi_group_t *group, int assertion, ompi_win_t *win)
{
    return mpix_window_start(ompi_osc_mpix_window(win), group, assertion);
}

static int window_complete(ompi_win_t *win)
{
    return mpix_window_complete(ompi_osc_mpix_window(win));
}

static int window_post(ompi_group_t *group, int assertion, ompi_win_t *win)
{
    return mpix_window_post(ompi_osc_mpix_window(win), group, assertion);
}

static int window_wait(ompi_win_t *win)
{
    return mpix_window_wait(ompi_osc_mpix_window(win));
}

static int window_test(ompi_win_t *win, int *flag)
{
    return mpix_window_test(ompi_osc_mpix_window(win), flag);
}

static int window_lock(int type, int rank, int assertion, ompi_win_t *win)
{
    return mpix_window_lock(ompi_osc_mpix_window(win), type, rank, assertion);
}

static int window_unlock(int rank, ompi_win_t *win)
{
    return mpix_window_unlock(ompi_osc_mpix_window(win), rank);
}

static int window_lock_all(int assertion, ompi_win_t *win)
{
    return mpix_window_lock_all(ompi_osc_mpix_window(win), assertion);
}

static int window_unlock_all(ompi_win_t *win)
{
    return mpix_window_unlock_all(ompi_osc_mpix_window(win));
}

static int window_sync(ompi_win_t *win)
{
    return mpix_window_sync(ompi_osc_mpix_window(win));
}

static int window_flush(int rank, ompi_win_t *win)
{
    return mpix_window_flush(ompi_osc_mpix_window(win), rank);
}

static int window_flush_all(ompi_win_t *win)
{
    return mpix_window_flush_all(ompi_osc_mpix_window(win));
}

static int window_flush_local(int rank, ompi_win_t *win)
{
    return mpix_window_flush_local(ompi_osc_mpix_window(win), rank);
}

static int window_flush_local_all(ompi_win_t *win)
{
    return mpix_window_flush_local_all(ompi_osc_mpix_window(win));
}

static const ompi_osc_base_module_t functions = {
    .osc_win_shared_query = window_shared_query,
    .osc_win_attach = window_attach,
    .osc_win_detach = window_detach,
    .osc_free = window_free,
    .osc_put = ompi_osc_mpix_put,
    .osc_get = ompi_osc_mpix_get,
    .osc_accumulate = ompi_osc_mpix_accumulate,
    .osc_compare_and_swap = ompi_osc_mpix_compare_and_swap,
    .osc_fetch_and_op = ompi_osc_mpix_fetch_and_op,
    .osc_get_accumulate = ompi_osc_mpix_get_accumulate,
    .osc_rput = ompi_osc_mpix_rput,
    .osc_rget = ompi_osc_mpix_rget,
    .osc_raccumulate = ompi_osc_mpix_raccumulate,
    .osc_rget_accumulate = ompi_osc_mpix_rget_accumulate,
    .osc_fence = window_fence,
    .osc_start = window_start,
    .osc_complete = window_complete,
    .osc_post = window_post,
    .osc_wait = window_wait,
    .osc_test = window_test,
    .osc_lock = window_lock,
    .osc_unlock = window_unlock,
    .osc_lock_all = window_lock_all,
    .osc_unlock_all = window_unlock_all,
    .osc_sync = window_sync,
    .osc_flush = window_flush,
    .osc_flush_all = window_flush_all,
    .osc_flush_local = window_flush_local,
    .osc_flush_local_all = window_flush_local_all,
};

/* NULL where it is another component's. */
static mpix_window_t *own_window(mpix_handle_t handle)
{
    ompi_win_t *win = (ompi_win_t *) handle;
    if (ompi_win_invalid(win) || NULL == win->w_osc_module || functions.osc_put != win->w_osc_module->osc_put) {
        return NULL;
    }
    return ompi_osc_mpix_window(win);
}

int ompi_osc_mpix_window_targets(mpix_handle_t window)
{
    mpix_window_t *own = own_window(window);
    return NULL == own ? -1 : mpix_window_ranks(own);
}

int ompi_osc_mpix_window_region(mpix_handle_t window, int rank, int64_t *bytes, int *disp_unit)
{
    mpix_window_t *own = own_window(window);
    MPI_Aint size = 0;
    const int ret = NULL == own ? MPI_ERR_WIN : mpix_window_region(own, rank, &size, disp_unit);
    *bytes = (int64_t) size;
    return ret;
}

int ompi_osc_mpix_window_persist(mpix_handle_t window)
{
    mpix_window_t *own = own_window(window);
    return NULL == own ? MPI_ERR_WIN : mpix_window_persist(own);
}

int ompi_osc_mpix_window_set_counters(mpix_handle_t window, int num)
{
    mpix_window_t *own = own_window(window);
    return NULL == own ? MPI_ERR_WIN : mpix_window_set_counters(own, num);
}

/* Keys of the attributes that tell how many counters there can be, once they were asked for. */
static int bounds_keys[3];
static bool bounds_are_shown;

static void show_counter_bounds(ompi_win_t *win)
{
    static MPI_Count largest = INT64_MAX;
    static MPI_Count none = 0;
    osc_mpix_module_t *module = (osc_mpix_module_t *) win->w_osc_module;
    mpix_window_counter_bounds(module->window, &module->suggested_counters, &module->most_counters);
    void *const values[3] = {&module->suggested_counters, &module->most_counters,
                             0 != module->most_counters ? &largest : &none};
    for (int i = 0; i < 3; ++i) {
        (void) PMPI_Win_set_attr(win, bounds_keys[i], values[i]);
    }
}

void ompi_osc_mpix_window_show_counter_bounds(int suggested_key, int most_key, int value_key)
{
    bounds_keys[0] = suggested_key;
    bounds_keys[1] = most_key;
    bounds_keys[2] = value_key;
    bounds_are_shown = true;
    const int size = opal_pointer_array_get_size(&ompi_mpi_windows);
    for (int i = 0; i < size; ++i) {
        ompi_win_t *win = opal_pointer_array_get_item(&ompi_mpi_windows, i);
        if (NULL != own_window((mpix_handle_t) win)) {
            show_counter_bounds(win);
        }
    }
}

uint64_t *ompi_osc_mpix_window_counter(mpix_handle_t window, int index)
{
    mpix_window_t *own = own_window(window);
    return NULL == own ? NULL : mpix_window_counter(own, index);
}

int ompi_osc_mpix_window_num_counters(mpix_handle_t window, int rank, int *num)
{
    mpix_window_t *own = own_window(window);
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
    mpix_window_t *own = own_window(window);
    MPI_Request made = MPI_REQUEST_NULL;
    MPI_Request *wanted = NULL == request ? NULL : &made;
    int ret = MPI_ERR_WIN;
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
        return mpix_window_flush(window, call->rank);
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
    default:
        return mpix_window_flush_all(window);
    }
}

int ompi_osc_mpix_window_flush(mpix_handle_t window, const struct mpix_host_flush *call, mpix_handle_t *request)
{
    mpix_window_t *own = own_window(window);
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

/* Open MPI keeps what is returned for MPI_Win_get_info. */
static osc_mpix_text_t *hint_changed(opal_infosubscriber_t *object, osc_mpix_text_t *key,
                                     osc_mpix_text_t *value)
{
    ompi_win_t *win = (ompi_win_t *) object;
    if (NULL == win->w_osc_module) {
        return value;
    }
    const char *in_force = mpix_window_set_hint(ompi_osc_mpix_window(win), key, value);
    return NULL == in_force ? value : (osc_mpix_text_t *) in_force;
}

enum {
    max_hints = 16,
    max_value = 256
};

bool ompi_osc_mpix_is_at_server(opal_info_t *info, int flavor)
{
    char value[max_value];
    if (NULL != info && MPI_WIN_FLAVOR_ALLOCATE == flavor) {
        return ompi_osc_mpix_read_info(info, "deep_mem_kind", value, max_value) &&
               (0 == strcmp(value, "deep_nam") || 0 == strcmp(value, "deep_nam_persistent"));
    }
    return NULL != info && MPI_WIN_FLAVOR_DYNAMIC == flavor &&
           ompi_osc_mpix_read_info(info, "deep_win_port_name", value, max_value);
}

static void read_hints(opal_info_t *info, struct mpix_window_hint *hints, char (*values)[max_value])
{
    const char *const *key = mpix_window_keys();
    int i = 0;
    for (; NULL != info && NULL != key[i] && i < max_hints; ++i) {
        const int given = ompi_osc_mpix_read_info(info, key[i], values[i], max_value);
        hints[i] = (struct mpix_window_hint){key[i], given ? values[i] : NULL};
    }
    hints[i] = (struct mpix_window_hint){NULL, NULL};
}

/* Open MPI cuts off longer keys, in place; such hints cannot be changed. */
enum {
    max_subscribed_key = 27
};

static void show_hints(ompi_win_t *win, mpix_window_t *window)
{
    for (const char *const *key = mpix_window_keys(); NULL != *key; ++key) {
        const char *value = mpix_window_set_hint(window, *key, NULL);
        if (NULL == value) {
            continue; /* says nothing about this window */
        }
        if (strlen(*key) <= max_subscribed_key) {
            (void) opal_infosubscribe_subscribe(&win->super, (char *) *key, (char *) value, hint_changed);
        } else if (NULL != win->super.s_info) {
            (void) opal_info_set(win->super.s_info, *key, value);
        }
    }
}

/* Open MPI looks there whether a target's rank is one: `ranks` times this process, which is not asked for
 * more. */
static int set_targets(ompi_win_t *win, int ranks)
{
    ompi_group_t *targets = ompi_osc_mpix_new_group(win->w_group, ranks);
    if (NULL == targets) {
        return MPI_ERR_NO_MEM;
    }
    for (int i = 0; i < ranks; ++i) {
        OBJ_RETAIN(ompi_proc_local_proc);
        targets->grp_proc_pointers[i] = ompi_proc_local_proc;
    }
    targets->grp_my_rank = MPI_UNDEFINED;
    OBJ_RELEASE(win->w_group);
    win->w_group = targets;
    return MPI_SUCCESS;
}

int ompi_osc_mpix_make_window(ompi_win_t *win, void **base, size_t size, int disp_unit,
                              ompi_communicator_t *comm, opal_info_t *info, int flavor, int *model)
{
    struct mpix_window_hint hints[max_hints + 1];
    char values[max_hints][max_value];
    struct mpix_window_memory memory = {flavor, MPI_WIN_FLAVOR_CREATE == flavor ? *base : NULL,
                                        (MPI_Aint) size, disp_unit};
    osc_mpix_module_t *module = calloc(1, sizeof(*module));
    if (NULL == module) {
        return MPI_ERR_NO_MEM;
    }
    read_hints(info, hints, values);
    int ret = mpix_window_create(comm, &memory, hints, win, &module->window);
    if (MPI_SUCCESS == ret && mpix_window_ranks(module->window) != ompi_comm_size(comm)) {
        ret = set_targets(win, mpix_window_ranks(module->window));
    }
    if (MPI_SUCCESS != ret) {
        free(module);
        return ret;
    }
    module->super = functions;
    win->w_osc_module = &module->super;
    if (MPI_WIN_FLAVOR_CREATE != flavor && MPI_WIN_FLAVOR_DYNAMIC != flavor) {
        *base = memory.base;
    }
    *model = MPI_WIN_UNIFIED;
    show_hints(win, module->window);
    if (bounds_are_shown) {
        show_counter_bounds(win);
    }
    return OMPI_SUCCESS;
}
