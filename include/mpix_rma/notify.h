/**
 * Notification: counters that operations increment at their targets. Indices, reset and the wait for a
 * threshold follow the notified communication of the MPI 5.1 draft (12.6), with a communicator in the place
 * of a window. Included by mpix_rma.h.
 */
#ifndef MPIX_RMA_NOTIFY_H
#define MPIX_RMA_NOTIFY_H

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Gives each process of a communicator its counters, all zero, in the place of those that it has.
 *
 * @param communicator  address of the communicator; of an intercommunicator, both groups take part
 * @param num           number of counters of this process, not negative; may differ between processes
 *
 * Collective; the communicator's operations must be complete. An operation with MPIX_RMA_ATTR_NOTIFY
 * increments the counter `notify_index` of its target after the target's memory holds its result (PUT,
 * ACCUMULATE, rmw) or has been read (GET). Counters are 64 bits wide. MPI_Comm_dup does not copy them;
 * MPI_Comm_free frees them.
 *
 * @return MPI_SUCCESS; MPI_ERR_COMM; MPI_ERR_ARG (negative); MPI_ERR_NO_MEM; on all ranks.
 */
MPIX_RMA_API int MPIX_RMA_Set_num_notify(MPI_Comm *communicator, int num);

/**
 * The number of counters that this process has on a communicator.
 *
 * @param communicator  address of the communicator
 * @param num           receives the number; 0 before MPIX_RMA_Set_num_notify
 *
 * Local.
 *
 * @return MPI_SUCCESS; MPI_ERR_COMM; MPI_ERR_ARG.
 */
MPIX_RMA_API int MPIX_RMA_Get_num_notify(MPI_Comm *communicator, int *num);

/**
 * The present value of a counter of this process. What the operations counted in it wrote is visible
 * afterwards.
 *
 * @param communicator      address of the communicator
 * @param notification_idx  index of the counter, from 0
 * @param value             receives the value
 *
 * Local.
 *
 * @return MPI_SUCCESS; MPI_ERR_COMM; MPI_ERR_ARG (no such counter, null pointer).
 */
MPIX_RMA_API int MPIX_RMA_Get_notify_value(MPI_Comm *communicator, int notification_idx, MPI_Count *value);

/**
 * Sets a counter of this process to zero and returns what it was, in one step: no increment is lost.
 *
 * @param communicator      address of the communicator
 * @param notification_idx  index of the counter, from 0
 * @param value             receives the value before; may be NULL
 *
 * Local. Requests that wait for no more than that are complete; others wait from zero on.
 *
 * @return MPI_SUCCESS; MPI_ERR_COMM; MPI_ERR_ARG (no such counter).
 */
MPIX_RMA_API int MPIX_RMA_Reset_notify_value(MPI_Comm *communicator, int notification_idx, MPI_Count *value);

/**
 * A request that is complete once a counter of this process has reached a threshold.
 *
 * @param communicator      address of the communicator
 * @param notification_idx  index of the counter, from 0
 * @param threshold         value to reach, not negative; the counter is not changed
 * @param request           receives the request, for MPI_Wait, MPI_Test and their like
 *
 * Local. Fails with the address class when the counters go away first.
 *
 * @return MPI_SUCCESS; MPI_ERR_COMM; MPI_ERR_ARG (no such counter, negative threshold); MPI_ERR_REQUEST (null
 *         pointer); MPI_ERR_NO_MEM.
 */
MPIX_RMA_API int MPIX_RMA_Wait_notify_value(MPI_Comm *communicator, int notification_idx, MPI_Count threshold,
                                            MPI_Request *request);

#ifdef __cplusplus
}
#endif
#endif
