/* Communication on windows: Open MPI's calls converted to those of mpi-windows/. */
#include "osc_mpix_window.h"

typedef const struct mpix_window_buffer buffer_t;
typedef const struct mpix_window_place place_t;

int ompi_osc_mpix_put(const void *origin, int origin_count, ompi_datatype_t *origin_type, int rank,
                      ptrdiff_t disp, int count, ompi_datatype_t *type, ompi_win_t *win)
{
    return mpix_window_put(origin, origin_count, origin_type, rank, disp, count, type,
                           ompi_osc_mpix_window(win));
}

int ompi_osc_mpix_get(void *origin, int origin_count, ompi_datatype_t *origin_type, int rank, ptrdiff_t disp,
                      int count, ompi_datatype_t *type, ompi_win_t *win)
{
    return mpix_window_get(origin, origin_count, origin_type, rank, disp, count, type,
                           ompi_osc_mpix_window(win));
}

int ompi_osc_mpix_rput(const void *origin, int origin_count, ompi_datatype_t *origin_type, int rank,
                       ptrdiff_t disp, int count, ompi_datatype_t *type, ompi_win_t *win,
                       ompi_request_t **request)
{
    return mpix_window_rput(ompi_osc_mpix_window(win),
                            &(buffer_t){(void *) origin, origin_count, origin_type},
                            &(place_t){rank, disp, count, type}, request);
}

int ompi_osc_mpix_rget(void *origin, int origin_count, ompi_datatype_t *origin_type, int rank, ptrdiff_t disp,
                       int count, ompi_datatype_t *type, ompi_win_t *win, ompi_request_t **request)
{
    return mpix_window_rget(ompi_osc_mpix_window(win), &(buffer_t){origin, origin_count, origin_type},
                            &(place_t){rank, disp, count, type}, request);
}

int ompi_osc_mpix_accumulate(const void *origin, int origin_count, ompi_datatype_t *origin_type, int rank,
                             ptrdiff_t disp, int count, ompi_datatype_t *type, struct ompi_op_t *op,
                             ompi_win_t *win)
{
    return mpix_window_accumulate(origin, origin_count, origin_type, rank, disp, count, type, op,
                                  ompi_osc_mpix_window(win));
}

int ompi_osc_mpix_raccumulate(const void *origin, int origin_count, ompi_datatype_t *origin_type, int rank,
                              ptrdiff_t disp, int count, ompi_datatype_t *type, struct ompi_op_t *op,
                              ompi_win_t *win, ompi_request_t **request)
{
    return mpix_window_update(ompi_osc_mpix_window(win),
                              &(buffer_t){(void *) origin, origin_count, origin_type}, NULL,
                              &(place_t){rank, disp, count, type}, op, request);
}

int ompi_osc_mpix_get_accumulate(const void *origin, int origin_count, ompi_datatype_t *origin_type,
                                 void *result, int result_count, ompi_datatype_t *result_type, int rank,
                                 ptrdiff_t disp, int count, ompi_datatype_t *type, struct ompi_op_t *op,
                                 ompi_win_t *win)
{
    return mpix_window_update(
        ompi_osc_mpix_window(win), &(buffer_t){(void *) origin, origin_count, origin_type},
        &(buffer_t){result, result_count, result_type}, &(place_t){rank, disp, count, type}, op, NULL);
}

int ompi_osc_mpix_rget_accumulate(const void *origin, int origin_count, ompi_datatype_t *origin_type,
                                  void *result, int result_count, ompi_datatype_t *result_type, int rank,
                                  ptrdiff_t disp, int count, ompi_datatype_t *type, struct ompi_op_t *op,
                                  ompi_win_t *win, ompi_request_t **request)
{
    return mpix_window_update(
        ompi_osc_mpix_window(win), &(buffer_t){(void *) origin, origin_count, origin_type},
        &(buffer_t){result, result_count, result_type}, &(place_t){rank, disp, count, type}, op, request);
}

int ompi_osc_mpix_fetch_and_op(const void *origin, void *result, ompi_datatype_t *type, int rank,
                               ptrdiff_t disp, struct ompi_op_t *op, ompi_win_t *win)
{
    return mpix_window_fetch_and_op(origin, result, type, rank, disp, op, ompi_osc_mpix_window(win));
}

int ompi_osc_mpix_compare_and_swap(const void *origin, const void *compare, void *result,
                                   ompi_datatype_t *type, int rank, ptrdiff_t disp, ompi_win_t *win)
{
    return mpix_window_compare_and_swap(origin, compare, result, type, rank, disp, ompi_osc_mpix_window(win));
}
