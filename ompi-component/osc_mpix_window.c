/* Creation, destruction and synchronisation of windows. */
#include "osc_mpix_versions.h"
#include "osc_mpix_window.h"

#include "ompi/proc/proc.h"
#include "ompi/runtime/mpiruntime.h"
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

static int free_destroyed(ompi_win_t *win)
{
    return OMPI_SUCCESS;
}

/* The module of a destroyed window whose handle is still valid, because MPI_Win_free returned an error. */
static ompi_osc_base_module_t destroyed_module = {.osc_free = free_destroyed};

static int window_free(ompi_win_t *win)
{
    int is_gone = 0;
    (void) ompi_osc_mpix_requests_deliver(); /* records failures of operations whose requests were freed */
    /* With an open epoch MPI_Win_free would fail here, while other processes wait in MPI_Win_free. */
    if (ompi_mpi_state >= OMPI_MPI_STATE_FINALIZE_STARTED) {
        mpix_window_end_epochs(ompi_osc_mpix_window(win));
    }
    const int ret = mpix_window_free(ompi_osc_mpix_window(win), &is_gone);
    if (is_gone) {
        (void) ompi_osc_mpix_requests_deliver(); /* failed requests keep the window, so it must exist */
        free(win->w_osc_module);
        win->w_osc_module = MPI_SUCCESS == ret ? NULL : &destroyed_module;
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

mpix_window_t *ompi_osc_mpix_own_window(mpix_handle_t handle)
{
    ompi_win_t *win = (ompi_win_t *) handle;
    if (ompi_win_invalid(win) || NULL == win->w_osc_module ||
        functions.osc_put != win->w_osc_module->osc_put) {
        return NULL;
    }
    return ompi_osc_mpix_window(win);
}

/* Open MPI stores the returned text for MPI_Win_get_info. */
static osc_mpix_text_t *hint_changed(opal_infosubscriber_t *object, osc_mpix_text_t *key,
                                     osc_mpix_text_t *value)
{
    /* There is no window while it is created, nor after MPI_Win_free has failed. */
    mpix_window_t *window = ompi_osc_mpix_own_window((mpix_handle_t) object);
    if (NULL == window) {
        return value;
    }
    const char *in_force = mpix_window_set_hint(window, key, value);
    return NULL == in_force ? value : (osc_mpix_text_t *) in_force;
}

enum {
    max_hints = 32,
    max_value = 256
};

bool ompi_osc_mpix_uses_memory_server(opal_info_t *info, int flavor)
{
    char value[max_value];
    if (NULL != info && MPI_WIN_FLAVOR_ALLOCATE == flavor) {
        /* An unknown kind is an error, which window creation reports at all processes. */
        return ompi_osc_mpix_read_info(info, "deep_mem_kind", value, max_value);
    }
    return NULL != info && MPI_WIN_FLAVOR_DYNAMIC == flavor &&
           ompi_osc_mpix_read_info(info, "deep_win_port_name", value, max_value);
}

static void read_hints(opal_info_t *info, struct mpix_window_hint *hints, char (*values)[max_value])
{
    const char *const *key = mpix_window_keys();
    int i = 0;
    /* Most windows have no hints, and each look-up of a key has a cost. */
    const bool has_keys = NULL != info && !opal_list_is_empty(&info->super);
    for (; has_keys && NULL != key[i] && i < max_hints; ++i) {
        const int given = ompi_osc_mpix_read_info(info, key[i], values[i], max_value);
        hints[i] = (struct mpix_window_hint){key[i], given ? values[i] : NULL};
    }
    hints[i] = (struct mpix_window_hint){NULL, NULL};
}

/* Longer keys are not subscribed to: Open MPI truncates them in place. Such hints cannot be changed. */
enum {
    max_subscribed_key = 27
};

static void show_hints(ompi_win_t *win, mpix_window_t *window)
{
    for (const char *const *key = mpix_window_keys(); NULL != *key; ++key) {
        const char *value = mpix_window_set_hint(window, *key, NULL);
        if (NULL == value) {
            continue; /* the hint does not apply to this window */
        }
        if (strlen(*key) <= max_subscribed_key) {
            (void) opal_infosubscribe_subscribe(&win->super, (char *) *key, (char *) value, hint_changed);
        } else if (NULL != win->super.s_info) {
            (void) opal_info_set(win->super.s_info, *key, value);
        }
    }
}

/* Sets the group by which Open MPI checks a target's rank: `ranks` entries of this process, because Open MPI
 * uses only the size. */
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

/* Makes the creation of a window fail at all processes if set_targets fails at one. Collective. */
static int set_targets_or_free(ompi_win_t *win, mpix_window_t *window, ompi_communicator_t *comm)
{
    const int own = set_targets(win, mpix_window_ranks(window));
    int failed = MPI_SUCCESS != own;
    int is_gone = 0;
    const int ret = PMPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, comm);
    if (MPI_SUCCESS == ret && !failed) {
        return MPI_SUCCESS;
    }
    (void) mpix_window_free(window, &is_gone);
    if (MPI_SUCCESS != ret) {
        return ret;
    }
    return mpix_window_refuse(MPI_ERR_NO_MEM, "no memory for the group of the targets");
}

int ompi_osc_mpix_make_window(ompi_win_t *win, void **base, size_t size, int disp_unit,
                              ompi_communicator_t *comm, opal_info_t *info, int flavor, int *model)
{
    struct mpix_window_hint hints[max_hints + 1];
    char values[max_hints][max_value];
    struct mpix_window_memory memory = {flavor, MPI_WIN_FLAVOR_CREATE == flavor ? *base : NULL,
                                        (MPI_Aint) size, disp_unit};
    osc_mpix_module_t *module = calloc(1, sizeof(*module));
    read_hints(info, hints, values);
    /* Without a module the call fails at all processes. */
    int ret = mpix_window_create(comm, &memory, hints, win, NULL != module ? &module->window : NULL);
    if (MPI_SUCCESS == ret && mpix_window_ranks(module->window) != ompi_comm_size(comm)) {
        ret = set_targets_or_free(win, module->window, comm);
    }
    if (MPI_SUCCESS != ret) {
        free(module);
        return ret;
    }
    ompi_osc_mpix_count_window();
    module->super = functions;
    win->w_osc_module = &module->super;
    if (MPI_WIN_FLAVOR_CREATE != flavor && MPI_WIN_FLAVOR_DYNAMIC != flavor) {
        *base = memory.base;
    }
    *model = MPI_WIN_UNIFIED;
    show_hints(win, module->window);
    ompi_osc_mpix_set_counter_attributes(win);
    return OMPI_SUCCESS;
}
