/* Initialisation and finalisation of the component. */
#include "osc_mpix_versions.h"
#include "osc_mpix_window.h"

/* Called in MPI_Init before the processes exchange their connection data. If the engine of this process
 * cannot start, the component stays nevertheless: Open MPI would drop it at this process alone, and the
 * creation of windows would wait elsewhere for the agreement on its use. libmpix_rma reports the reason. */
static int component_init(bool enable_progress_threads, bool enable_mpi_threads)
{
    if (mpix_host_is_public()) {
        return OMPI_ERR_NOT_AVAILABLE;
    }
    if (!ompi_osc_mpix_headers_fit()) {
        mpix_host_set_unavailable("the component was built for another build of Open MPI");
        return OMPI_ERR_NOT_AVAILABLE;
    }
    ompi_osc_mpix_engine_configure(enable_mpi_threads);
    if (mpix_host_early_open_requested()) {
        (void) ompi_osc_mpix_engine_open();
    }
    mpix_host_offer_opener(ompi_osc_mpix_engine_open);
    return OMPI_SUCCESS;
}

static int component_finalize(void)
{
    mpix_host_offer_opener(NULL);
    ompi_osc_mpix_engine_close();
    return OMPI_SUCCESS;
}

/* Any negative value other than OMPI_ERR_RMA_SHARED passes the window on to the other components. */
static int component_query(struct ompi_win_t *win, void **base, size_t size, int disp_unit,
                           struct ompi_communicator_t *comm, struct opal_info_t *info, int flavor)
{
    ompi_osc_mpix_count_query();
    const int priority = ompi_osc_mpix_agreed_priority(comm, info, flavor);
    return priority >= 0 ? priority : OMPI_ERR_NOT_SUPPORTED;
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
