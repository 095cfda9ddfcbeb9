/* Initialisation and finalisation of the component. */
#include "osc_mpix_versions.h"
#include "osc_mpix_window.h"

#include "opal/runtime/opal_progress.h"

#include <stdio.h>

static bool engine_runs = false;

/* The engine may hold locks while it waits: operations on windows are not issued then. */
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

static const struct mpix_host_ops host_ops = {
    .size = sizeof(struct mpix_host_ops),
    .process_of_rank = ompi_osc_mpix_process_of_rank,
    .communicator_is_live = ompi_osc_mpix_communicator_is_live,
    .datatype_is_committed = ompi_osc_mpix_datatype_is_committed,
    .request_create = ompi_osc_mpix_request_create,
    .request_complete = ompi_osc_mpix_request_complete,
    .request_finish = ompi_osc_mpix_request_finish,
    .request_completed = ompi_osc_mpix_request_completed,
    .request_create_persistent = ompi_osc_mpix_request_create_persistent,
    .request_start = ompi_osc_mpix_request_start,
    .request_is_active = ompi_osc_mpix_request_is_active,
    .requests_show = ompi_osc_mpix_requests_drain,
    .window_request_create = ompi_osc_mpix_window_request_create,
    .window_targets = ompi_osc_mpix_window_targets,
    .window_region = ompi_osc_mpix_window_region,
    .window_persist = ompi_osc_mpix_window_persist,
    .window_set_counters = ompi_osc_mpix_window_set_counters,
    .window_counter = ompi_osc_mpix_window_counter,
    .window_show_counter_bounds = ompi_osc_mpix_window_show_counter_bounds,
    .window_num_counters = ompi_osc_mpix_window_num_counters,
    .window_notified = ompi_osc_mpix_window_notified,
    .window_flush = ompi_osc_mpix_window_flush,
    .window_refusal = mpix_window_refusal,
    .communicator_refuse_calls = ompi_osc_mpix_communicator_refuse_calls,
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

static void stop_engine(void)
{
    if (!engine_runs) {
        return;
    }
    engine_runs = false;
    opal_progress_unregister(progress_callback);
    mpix_engine_t *engine = mpix_host_engine();
    ompi_osc_mpix_report(engine);
    mpix_engine_destroy(engine); /* completes requests until it ends */
    mpix_host_offer(NULL, NULL);
    ompi_osc_mpix_requests_stop();
    ompi_osc_mpix_modex_stop();
}

/* Called in MPI_Init before the processes exchange their connection data. If the engine cannot start, the
 * job continues: the component is closed and the front end reports the reason. */
static int component_init(bool enable_progress_threads, bool enable_mpi_threads)
{
    struct mpix_engine_config config;
    struct mpix_bootstrap bootstrap;
    mpix_engine_t *engine;
    mpix_engine_config_init(&config);
    config.progress = progress_everything;
    config.yields_when_idle = yields_when_idle;
    config.thread_multiple = enable_mpi_threads;
    if (mpix_host_is_public()) {
        return OMPI_ERR_NOT_AVAILABLE;
    }
    if (OMPI_SUCCESS != ompi_osc_mpix_configure(&config)) {
        return OMPI_ERR_BAD_PARAM;
    }
    if (!ompi_osc_mpix_headers_fit()) {
        mpix_host_refuse("the component was built for another build of Open MPI");
        return OMPI_ERR_NOT_AVAILABLE;
    }
    ompi_osc_mpix_modex_start(&bootstrap);
    ompi_osc_mpix_requests_start();
    const int status = mpix_engine_create(&config, &bootstrap, &engine);
    if (0 != status) {
        char line[128];
        snprintf(line, sizeof(line), "its engine does not start: %s", mpix_engine_status_text(status));
        mpix_host_refuse(line);
        ompi_osc_mpix_requests_stop();
        ompi_osc_mpix_modex_stop();
        return OMPI_ERR_NOT_AVAILABLE;
    }
    mpix_host_offer(engine, &host_ops);
    mpix_windows_set_verbose(config.verbose);
    ompi_osc_mpix_configure_windows();
    engine_runs = true;
    opal_progress_register(progress_callback);
    return OMPI_SUCCESS;
}

static int component_finalize(void)
{
    stop_engine();
    return OMPI_SUCCESS;
}

/* Each process decides alone, from data that is the same at all processes. Any negative value other than
 * OMPI_ERR_RMA_SHARED passes the window on to the other components. */
static int component_query(struct ompi_win_t *win, void **base, size_t size, int disp_unit,
                           struct ompi_communicator_t *comm, struct opal_info_t *info, int flavor)
{
    ompi_osc_mpix_report_query();
    return engine_runs ? ompi_osc_mpix_window_priority(info, flavor) : OMPI_ERR_NOT_SUPPORTED;
}

__attribute__((visibility("default"))) ompi_osc_base_component_t mca_osc_mpix_component = {
    .osc_version =
        {
            OMPI_OSC_BASE_VERSION_3_0_0,
            .mca_component_name = "mpix",
            MCA_BASE_MAKE_VERSION(component, OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION, OMPI_RELEASE_VERSION),
            .mca_register_component_params = ompi_osc_mpix_register,
        },
    .osc_data = {.param_field = MCA_BASE_METADATA_PARAM_NONE},
    .osc_init = component_init,
    .osc_query = component_query,
    .osc_select = ompi_osc_mpix_make_window,
    .osc_finalize = component_finalize,
};
