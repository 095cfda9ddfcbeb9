/**
 * The profiling interface: the calls of mpix_rma.h under a second name. A tool that defines MPIX_RMA_xfer
 * intercepts each such call of the program, and passes it on to PMPIX_RMA_xfer; likewise for all others. The
 * library itself does not call the MPIX_ names. Included by tools, beside mpix_rma.h.
 */
#ifndef MPIX_RMA_PROFILING_H
#define MPIX_RMA_PROFILING_H

#include "../mpix_rma.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A second declaration of the same type; GCC, Clang and compatible compilers have __typeof__. */
#define MPIX_RMA_PROFILED_(call) MPIX_RMA_API __typeof__(call) P##call;

/* attributes.h */
MPIX_RMA_PROFILED_(MPIX_RMA_Keyval)

/* completion.h */
MPIX_RMA_PROFILED_(MPIX_RMA_Complete)
MPIX_RMA_PROFILED_(MPIX_RMA_Fence)
MPIX_RMA_PROFILED_(MPIX_RMA_Complete_local)
MPIX_RMA_PROFILED_(MPIX_RMA_Icomplete)
MPIX_RMA_PROFILED_(MPIX_RMA_Icomplete_local)
MPIX_RMA_PROFILED_(MPIX_RMA_Error_class)

/* memory.h */
MPIX_RMA_PROFILED_(MPIX_RMA_Allocate)
MPIX_RMA_PROFILED_(MPIX_RMA_Free)
MPIX_RMA_PROFILED_(MPIX_RMA_Allocate_local)
MPIX_RMA_PROFILED_(MPIX_RMA_Free_local)
MPIX_RMA_PROFILED_(MPIX_RMA_Register)
MPIX_RMA_PROFILED_(MPIX_RMA_Deregister)
MPIX_RMA_PROFILED_(MPIX_RMA_Query)
MPIX_RMA_PROFILED_(MPIX_RMA_Segments)

/* nam.h */
MPIX_RMA_PROFILED_(MPIX_Win_allocate_nam)
MPIX_RMA_PROFILED_(MPIX_Win_connect)
MPIX_RMA_PROFILED_(MPIX_Win_persist)
MPIX_RMA_PROFILED_(MPIX_Win_query)

/* notify.h */
MPIX_RMA_PROFILED_(MPIX_RMA_Set_num_notify)
MPIX_RMA_PROFILED_(MPIX_RMA_Get_num_notify)
MPIX_RMA_PROFILED_(MPIX_RMA_Get_notify_value)
MPIX_RMA_PROFILED_(MPIX_RMA_Reset_notify_value)
MPIX_RMA_PROFILED_(MPIX_RMA_Wait_notify_value)

/* plan.h */
MPIX_RMA_PROFILED_(MPIX_RMA_Plan_create)
MPIX_RMA_PROFILED_(MPIX_RMA_Plan_issue)
MPIX_RMA_PROFILED_(MPIX_RMA_Plan_issue_c)
MPIX_RMA_PROFILED_(MPIX_RMA_Plan_free)

/* request.h */
MPIX_RMA_PROFILED_(MPIX_Req_set_attr)
MPIX_RMA_PROFILED_(MPIX_Req_get_attr)

/* rma_request.h */
MPIX_RMA_PROFILED_(MPIX_RMA_xfer_rma)
MPIX_RMA_PROFILED_(MPIX_RMA_xfer_rma_c)
MPIX_RMA_PROFILED_(MPIX_RMA_rmw_rma)
MPIX_RMA_PROFILED_(MPIX_RMA_rmw_rma_c)
MPIX_RMA_PROFILED_(MPIX_RMA_rmw2_rma)
MPIX_RMA_PROFILED_(MPIX_RMA_rmw2_rma_c)
MPIX_RMA_PROFILED_(MPIX_Rma_request_set_attr)
MPIX_RMA_PROFILED_(MPIX_Rma_request_get_attr)
MPIX_RMA_PROFILED_(MPIX_Rma_request_wait)
MPIX_RMA_PROFILED_(MPIX_Rma_request_test)
MPIX_RMA_PROFILED_(MPIX_Rma_request_waitall)
MPIX_RMA_PROFILED_(MPIX_Rma_request_testall)
MPIX_RMA_PROFILED_(MPIX_Rma_request_waitany)
MPIX_RMA_PROFILED_(MPIX_Rma_request_free)

/* rmw.h */
MPIX_RMA_PROFILED_(MPIX_RMA_rmw)
MPIX_RMA_PROFILED_(MPIX_RMA_rmw_c)
MPIX_RMA_PROFILED_(MPIX_RMA_rmw_req)
MPIX_RMA_PROFILED_(MPIX_RMA_rmw_req_c)
MPIX_RMA_PROFILED_(MPIX_RMA_rmw2)
MPIX_RMA_PROFILED_(MPIX_RMA_rmw2_c)
MPIX_RMA_PROFILED_(MPIX_RMA_rmw2_req)
MPIX_RMA_PROFILED_(MPIX_RMA_rmw2_req_c)

/* statistics.h */
MPIX_RMA_PROFILED_(MPIX_RMA_Statistics)

/* version.h */
MPIX_RMA_PROFILED_(MPIX_RMA_Get_version)

/* window.h */
MPIX_RMA_PROFILED_(MPIX_Win_order)
MPIX_RMA_PROFILED_(MPIX_Win_order_all)
MPIX_RMA_PROFILED_(MPIX_Win_iflush)
MPIX_RMA_PROFILED_(MPIX_Win_iflush_all)
MPIX_RMA_PROFILED_(MPIX_Win_iflush_local)
MPIX_RMA_PROFILED_(MPIX_Win_iflush_local_all)
MPIX_RMA_PROFILED_(MPIX_Win_flush_windows)
MPIX_RMA_PROFILED_(MPIX_Win_flush_thread)
MPIX_RMA_PROFILED_(MPIX_Win_flush_thread_all)
MPIX_RMA_PROFILED_(MPIX_Win_set_num_notify)
MPIX_RMA_PROFILED_(MPIX_Win_get_num_notify)
MPIX_RMA_PROFILED_(MPIX_Win_get_notify_value)
MPIX_RMA_PROFILED_(MPIX_Win_reset_notify_value)
MPIX_RMA_PROFILED_(MPIX_Win_wait_notify_value)
MPIX_RMA_PROFILED_(MPIX_Put_notify)
MPIX_RMA_PROFILED_(MPIX_Rput_notify)
MPIX_RMA_PROFILED_(MPIX_Get_notify)
MPIX_RMA_PROFILED_(MPIX_Rget_notify)
MPIX_RMA_PROFILED_(MPIX_Accumulate_notify)
MPIX_RMA_PROFILED_(MPIX_Raccumulate_notify)
MPIX_RMA_PROFILED_(MPIX_Get_accumulate_notify)
MPIX_RMA_PROFILED_(MPIX_Rget_accumulate_notify)

/* xfer.h */
MPIX_RMA_PROFILED_(MPIX_RMA_xfer)
MPIX_RMA_PROFILED_(MPIX_RMA_xfer_c)
MPIX_RMA_PROFILED_(MPIX_RMA_xfer_req)
MPIX_RMA_PROFILED_(MPIX_RMA_xfer_req_c)

#undef MPIX_RMA_PROFILED_

#ifdef __cplusplus
}
#endif
#endif
