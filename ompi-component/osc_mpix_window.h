/* Open MPI windows that use the engine. */
#ifndef OSC_MPIX_WINDOW_H
#define OSC_MPIX_WINDOW_H

#include "osc_mpix.h"

#include "ompi/datatype/ompi_datatype.h"
#include "ompi/request/request.h"
#include "ompi/win/win.h"

#include "mpi-windows/state/mpix_windows.h"

typedef struct osc_mpix_module_t {
    ompi_osc_base_module_t super;
    mpix_window_t *window;
    int suggested_counters;
    int max_counters;
} osc_mpix_module_t;

static inline mpix_window_t *ompi_osc_mpix_window(ompi_win_t *win)
{
    return ((osc_mpix_module_t *) win->w_osc_module)->window;
}

/* NULL if the window belongs to another component. */
mpix_window_t *ompi_osc_mpix_own_window(mpix_handle_t handle);

/* Sets the window's attributes for the limits of counters, once
 * ompi_osc_mpix_window_add_counter_attributes() has been called. */
void ompi_osc_mpix_set_counter_attributes(ompi_win_t *win);
void ompi_osc_mpix_forget_counter_attributes(void);

/* osc_mpix_window_extensions.c: mpix_host_ops. */
int ompi_osc_mpix_window_targets(mpix_handle_t window);
int ompi_osc_mpix_window_set_counters(mpix_handle_t window, int num);
void ompi_osc_mpix_window_add_counter_attributes(int suggested_key, int max_key, int value_key);
uint64_t *ompi_osc_mpix_window_counter(mpix_handle_t window, int index);
int ompi_osc_mpix_window_num_counters(mpix_handle_t window, int rank, int *num);
int ompi_osc_mpix_window_notified(mpix_handle_t window, const struct mpix_host_notified *operation,
                                  mpix_handle_t *request);
int ompi_osc_mpix_window_flush(mpix_handle_t window, const struct mpix_host_flush *call,
                               mpix_handle_t *request);
int ompi_osc_mpix_window_region(mpix_handle_t window, int rank, int64_t *bytes, int *disp_unit);
int ompi_osc_mpix_window_persist(mpix_handle_t window);

/* osc_mpix_operations.c: functions of ompi_osc_base_module_t, with the names of its members. */
int ompi_osc_mpix_put(const void *origin, int origin_count, ompi_datatype_t *origin_type, int rank,
                      ptrdiff_t disp, int count, ompi_datatype_t *type, ompi_win_t *win);
int ompi_osc_mpix_get(void *origin, int origin_count, ompi_datatype_t *origin_type, int rank, ptrdiff_t disp,
                      int count, ompi_datatype_t *type, ompi_win_t *win);
int ompi_osc_mpix_rput(const void *origin, int origin_count, ompi_datatype_t *origin_type, int rank,
                       ptrdiff_t disp, int count, ompi_datatype_t *type, ompi_win_t *win,
                       ompi_request_t **request);
int ompi_osc_mpix_rget(void *origin, int origin_count, ompi_datatype_t *origin_type, int rank, ptrdiff_t disp,
                       int count, ompi_datatype_t *type, ompi_win_t *win, ompi_request_t **request);
int ompi_osc_mpix_accumulate(const void *origin, int origin_count, ompi_datatype_t *origin_type, int rank,
                             ptrdiff_t disp, int count, ompi_datatype_t *type, struct ompi_op_t *op,
                             ompi_win_t *win);
int ompi_osc_mpix_raccumulate(const void *origin, int origin_count, ompi_datatype_t *origin_type, int rank,
                              ptrdiff_t disp, int count, ompi_datatype_t *type, struct ompi_op_t *op,
                              ompi_win_t *win, ompi_request_t **request);
int ompi_osc_mpix_get_accumulate(const void *origin, int origin_count, ompi_datatype_t *origin_type,
                                 void *result, int result_count, ompi_datatype_t *result_type, int rank,
                                 ptrdiff_t disp, int count, ompi_datatype_t *type, struct ompi_op_t *op,
                                 ompi_win_t *win);
int ompi_osc_mpix_rget_accumulate(const void *origin, int origin_count, ompi_datatype_t *origin_type,
                                  void *result, int result_count, ompi_datatype_t *result_type, int rank,
                                  ptrdiff_t disp, int count, ompi_datatype_t *type, struct ompi_op_t *op,
                                  ompi_win_t *win, ompi_request_t **request);
int ompi_osc_mpix_fetch_and_op(const void *origin, void *result, ompi_datatype_t *type, int rank,
                               ptrdiff_t disp, struct ompi_op_t *op, ompi_win_t *win);
int ompi_osc_mpix_compare_and_swap(const void *origin, const void *compare, void *result,
                                   ompi_datatype_t *type, int rank, ptrdiff_t disp, ompi_win_t *win);

/* For `mpix-rma check`: count Open MPI's queries of the component and the windows that the component has
 * created, and write both counts to a report before the engine ends. */
void ompi_osc_mpix_count_query(void);
void ompi_osc_mpix_count_window(void);
void ompi_osc_mpix_write_report(mpix_engine_t *engine);

#endif
