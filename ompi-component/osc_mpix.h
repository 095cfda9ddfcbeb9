/*
 * The Open MPI OSC component that hosts the one-sided engine.
 *
 * Open MPI opens the component in MPI_Init, like its own ones. The component starts the engine there or with
 * the first window, publishes the engine's address, registers the engine's progress with opal_progress, and
 * provides services that need the internals of an MPI library: the process identities of ranks, and requests
 * that MPI_Wait and MPI_Test accept. It also implements windows by calls of mpi-windows/.
 */
#ifndef OSC_MPIX_H
#define OSC_MPIX_H

#include "ompi_config.h"

#include "ompi/mca/osc/base/base.h"
#include "ompi/mca/osc/osc.h"

#include "engine/runtime/mpix_engine.h"
#include "hosts/common/hosted.h"

extern ompi_osc_base_component_t mca_osc_mpix_component;

/* osc_mpix_engine.c: the engine of the process. */
/* Called once, in MPI_Init. With parameters that are refused, the engine cannot be opened. */
void ompi_osc_mpix_engine_configure(bool thread_multiple);
bool ompi_osc_mpix_engine_runs(void);
/* Opens the engine, unless it is open or could not be opened before. Any thread. */
int ompi_osc_mpix_engine_open(void);
/* How often the engine has been started, in sessions one after the other. */
int ompi_osc_mpix_engine_start_count(void);
void ompi_osc_mpix_engine_close(void);

/* osc_mpix_parameters.c: MCA parameters, and the engine's configuration made of them. */
int ompi_osc_mpix_register(void);
int ompi_osc_mpix_configure(struct mpix_engine_config *config);
void ompi_osc_mpix_configure_windows(void);
/* Parameters that decide which windows the component takes; smaller values take fewer. */
enum {
    osc_mpix_windows_none,
    osc_mpix_windows_info,
    osc_mpix_windows_all
};
/* A process's parameters and its info object for a window, or the least of those of several processes. */
struct ompi_osc_mpix_choice {
    int windows;
    int maps_memory; /* nonzero: direct access is permitted */
    int priority;
    int info_asks; /* nonzero: the info object has mpix_window=true */
    int at_server; /* nonzero: the window has its memory at a memory server */
};
/* `info` may be NULL. */
void ompi_osc_mpix_own_choice(struct ompi_osc_mpix_choice *choice, struct opal_info_t *info, int flavor);
/* Priority for a window; negative: leave the window to other components. */
int ompi_osc_mpix_window_priority(const struct ompi_osc_mpix_choice *choice, int flavor);

/* osc_mpix_agreement.c. Collective: the priority for a window by the least of the choices of the
 * communicator's processes; negative, at all of them, also if the engine of one does not start. Afterwards
 * the addresses of all can be looked up if it is not negative. */
int ompi_osc_mpix_agreed_priority(struct ompi_communicator_t *comm, struct opal_info_t *info, int flavor);
void ompi_osc_mpix_forget_agreements(void);

/* Whether a window with this info object, which may be NULL, has its memory at a memory server. */
bool ompi_osc_mpix_uses_memory_server(struct opal_info_t *info, int flavor);

/* osc_mpix_window.c: ompi_osc_base_component_select_fn_t. */
int ompi_osc_mpix_make_window(struct ompi_win_t *win, void **base, size_t size, int disp_unit,
                              struct ompi_communicator_t *comm, struct opal_info_t *info, int flavor,
                              int *model);

/* osc_mpix_interfaces.c: the engine's interfaces (mpix_engine_config) for the parameter osc_mpix_interfaces.
 */
const char *ompi_osc_mpix_interfaces(const char *chosen);
/* Whether all processes of the job are on this host, and no process of another job has spawned this job. */
bool ompi_osc_mpix_job_is_on_this_host(void);

/* osc_mpix_pvars.c: performance variables. */
void ompi_osc_mpix_register_pvars(void);

/* osc_mpix_modex.c: the exchange of engine addresses. `start_count` is the number of times that the engine
 * has been started. */
void ompi_osc_mpix_modex_start(struct mpix_bootstrap *bootstrap, int start_count);
void ompi_osc_mpix_modex_stop(void);

/* osc_mpix_communicator.c */
int ompi_osc_mpix_process_of_rank(mpix_handle_t communicator, int rank, uint64_t *process);
int ompi_osc_mpix_communicator_is_live(mpix_handle_t communicator);
int ompi_osc_mpix_datatype_is_committed(mpix_handle_t datatype);
void ompi_osc_mpix_communicator_refuse_calls(mpix_handle_t communicator, int refuse);
void ompi_osc_mpix_communicator_set_freed(mpix_handle_t communicator, int freed);

/* osc_mpix_request.c: Open MPI's requests. */
void ompi_osc_mpix_requests_start(void);
void ompi_osc_mpix_requests_stop(void);
mpix_host_request_t *ompi_osc_mpix_request_create(mpix_handle_t communicator, mpix_handle_t *handle);
mpix_host_request_t *ompi_osc_mpix_window_request_create(void *window, mpix_handle_t *handle);
void ompi_osc_mpix_request_complete(mpix_host_request_t *request,
                                    const struct mpix_host_failure *failure, void *context);
void ompi_osc_mpix_request_when_freed(mpix_host_request_t *request, void (*freed)(uint64_t argument),
                                      uint64_t argument);
void ompi_osc_mpix_request_finish(mpix_host_request_t *request);
mpix_handle_t ompi_osc_mpix_request_completed(void);
mpix_host_request_t *ompi_osc_mpix_request_create_persistent(void (*freed)(mpix_handle_t handle),
                                                             mpix_handle_t *handle);
void ompi_osc_mpix_request_start(mpix_host_request_t *request, mpix_handle_t communicator);
int ompi_osc_mpix_request_is_active(mpix_host_request_t *request);
/* Passes completions to Open MPI; application threads only. Returns their number. */
int ompi_osc_mpix_requests_drain(void);
/* Likewise, and waits until completions that other threads are passing have been passed. Not from the
 * progress function. */
int ompi_osc_mpix_requests_deliver(void);

/* Converts Open MPI's process name to the engine's process identity and back. */
static inline uint64_t ompi_osc_mpix_pack_name(opal_process_name_t name)
{
    return ((uint64_t) name.jobid << 32) | name.vpid;
}

static inline opal_process_name_t ompi_osc_mpix_unpack_name(uint64_t process)
{
    opal_process_name_t name = {.jobid = (opal_jobid_t) (process >> 32), .vpid = (opal_vpid_t) process};
    return name;
}

#endif
