/* The engine of the process: opened in MPI_Init if a loaded library may address any process at any time,
 * otherwise with the first window. */
#include "osc_mpix_window.h"

#include "opal/runtime/opal_progress.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static struct mpix_engine_config config;
static struct mpix_bootstrap bootstrap;
/* How often the engine has been started. */
static int start_count;

/* Nonzero while the engine waits. It may hold locks then, so queued operations on windows are not issued. */
static _Thread_local int engine_waits = 0;

static void progress_everything(void *context)
{
    ++engine_waits;
    opal_progress();
    --engine_waits;
}

/* mpirun sets this if there are more processes than slots; also the MCA parameter mpi_yield_when_idle. */
static int yields_when_idle(void *context)
{
    return opal_progress_yield_when_idle;
}

/* Whether a session permits several threads; MPI_Query_thread does not know the levels of sessions. */
static bool session_uses_threads(void)
{
#if OMPI_MAJOR_VERSION < 5
    return false;
#else
    return opal_using_threads();
#endif
}

static int is_thread_multiple(void)
{
    int level = MPI_THREAD_MULTIPLE;
    (void) PMPI_Query_thread(&level);
    return MPI_THREAD_MULTIPLE == level || session_uses_threads();
}

static const struct mpix_host_ops host_ops = {
    .size = sizeof(struct mpix_host_ops),
    .process_of_rank = ompi_osc_mpix_process_of_rank,
    .communicator_is_live = ompi_osc_mpix_communicator_is_live,
    .datatype_is_committed = ompi_osc_mpix_datatype_is_committed,
    .request_create = ompi_osc_mpix_request_create,
    .request_complete = ompi_osc_mpix_request_complete,
    .request_finish = ompi_osc_mpix_request_finish,
    .request_when_freed = ompi_osc_mpix_request_when_freed,
    .request_completed = ompi_osc_mpix_request_completed,
    .request_create_persistent = ompi_osc_mpix_request_create_persistent,
    .request_start = ompi_osc_mpix_request_start,
    .request_is_active = ompi_osc_mpix_request_is_active,
    .deliver_completions = ompi_osc_mpix_requests_deliver,
    .is_thread_multiple = is_thread_multiple,
    .window_request_create = ompi_osc_mpix_window_request_create,
    .window_targets = ompi_osc_mpix_window_targets,
    .window_region = ompi_osc_mpix_window_region,
    .window_persist = ompi_osc_mpix_window_persist,
    .window_set_counters = ompi_osc_mpix_window_set_counters,
    .window_counter = ompi_osc_mpix_window_counter,
    .window_add_counter_attributes = ompi_osc_mpix_window_add_counter_attributes,
    .window_num_counters = ompi_osc_mpix_window_num_counters,
    .window_notified = ompi_osc_mpix_window_notified,
    .window_flush = ompi_osc_mpix_window_flush,
    .window_refusal = mpix_window_refusal,
    .communicator_refuse_calls = ompi_osc_mpix_communicator_refuse_calls,
    .communicator_set_freed = ompi_osc_mpix_communicator_set_freed,
    .nam_ranks = mpix_nam_ranks,
    .nam_publish = mpix_nam_publish,
    .nam_unpublish = mpix_nam_unpublish,
    .nam_lookup = mpix_nam_lookup,
};

static int progress_callback(void)
{
    mpix_engine_t *engine = mpix_host_engine();
    int events = NULL == engine ? 0 : mpix_engine_progress(engine);
    if (0 == engine_waits) {
        events += mpix_windows_progress();
    }
    return events + ompi_osc_mpix_requests_drain();
}

/* Returns OMPI_SUCCESS, or records the reason. */
static int start_engine(void)
{
    mpix_engine_t *engine;
    ompi_osc_mpix_modex_start(&bootstrap, ++start_count);
    ompi_osc_mpix_requests_start();
    const int status = mpix_engine_create(&config, &bootstrap, &engine);
    if (0 != status) {
        char why[96];
        char line[128];
        mpix_engine_create_failure_text(status, why, sizeof(why));
        snprintf(line, sizeof(line), "its engine does not start: %s", why);
        mpix_host_set_unavailable(line);
        ompi_osc_mpix_requests_stop();
        ompi_osc_mpix_modex_stop();
        return OMPI_ERR_NOT_AVAILABLE;
    }
    mpix_host_offer(engine, &host_ops);
    mpix_windows_set_verbose(config.verbose);
    ompi_osc_mpix_configure_windows();
    opal_progress_register(progress_callback);
    return OMPI_SUCCESS;
}

enum {
    engine_closed,
    engine_open,
    engine_failed
};
static atomic_int state = engine_closed;

void ompi_osc_mpix_engine_configure(bool thread_multiple)
{
    mpix_engine_config_init(&config);
    config.progress = progress_everything;
    config.yields_when_idle = yields_when_idle;
    config.thread_multiple = thread_multiple || session_uses_threads();
    const int status = ompi_osc_mpix_configure(&config);
    atomic_store_explicit(&state, OMPI_SUCCESS == status ? engine_closed : engine_failed,
                          memory_order_relaxed);
}

bool ompi_osc_mpix_engine_runs(void)
{
    return engine_open == atomic_load_explicit(&state, memory_order_acquire);
}

int ompi_osc_mpix_engine_start_count(void)
{
    return start_count;
}

int ompi_osc_mpix_engine_open(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (ompi_osc_mpix_engine_runs()) {
        return OMPI_SUCCESS;
    }
    pthread_mutex_lock(&lock);
    if (engine_closed == atomic_load_explicit(&state, memory_order_relaxed)) {
        const int status = start_engine();
        atomic_store_explicit(&state, OMPI_SUCCESS == status ? engine_open : engine_failed,
                              memory_order_release);
    }
    pthread_mutex_unlock(&lock);
    return ompi_osc_mpix_engine_runs() ? OMPI_SUCCESS : OMPI_ERR_NOT_AVAILABLE;
}

void ompi_osc_mpix_engine_close(void)
{
    mpix_engine_t *engine = mpix_host_engine();
    ompi_osc_mpix_write_report(engine);
    /* Open MPI numbers attribute keys anew when another session loads the component again. */
    mpix_windows_end();
    ompi_osc_mpix_forget_agreements();
    ompi_osc_mpix_forget_counter_attributes();
    if (!ompi_osc_mpix_engine_runs()) {
        return;
    }
    atomic_store_explicit(&state, engine_closed, memory_order_relaxed);
    opal_progress_unregister(progress_callback);
    mpix_engine_destroy(engine); /* completes requests until it ends */
    mpix_host_offer(NULL, NULL);
    ompi_osc_mpix_requests_stop();
    ompi_osc_mpix_modex_stop();
}
