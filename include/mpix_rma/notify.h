/**
 * Notification: counters that operations increment at their targets. Indices, reset and the wait for a
 * threshold follow the notified communication proposed for MPI 6 (12.6 of its draft), with a communicator
 * instead of a window. Included by mpix_rma.h.
 */
#ifndef MPIX_RMA_NOTIFY_H
#define MPIX_RMA_NOTIFY_H

#ifndef MPIX_RMA_H
#error "include mpix_rma.h, of which this header is a part"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Allocates the counters of each process of a communicator, all zero, and frees the previous counters.
 *
 * @param communicator  the communicator; of an intercommunicator, both groups take part
 * @param num           number of counters of this process, from 0 to 2^27; may differ between processes. A
 *                      counter takes 8 bytes, whose pages the call allocates
 *
 * Collective. Before it calls, each process has to complete its operations that have MPIX_RMA_ATTR_NOTIFY
 * on this communicator remotely (docs/semantics.md, Completion); the completion of a GET suffices. On return
 * every process has its new counters, which can be incremented.
 * An operation with MPIX_RMA_ATTR_NOTIFY increments the counter `notify_index` of its target after the
 * target's memory holds its result (PUT, ACCUMULATE, rmw) or has been read (GET). The increment covers
 * this operation only; others are covered if they are ordered before it (docs/semantics.md, Notification).
 * The largest value is 2^63 - 1; operations beyond it are erroneous. MPI_Comm_dup does not copy counters.
 * MPI_Comm_free and MPI_Comm_disconnect of a communicator on which this function has been called, with
 * whatever number, complete this process's operations
 * on it, synchronise its processes, and free the counters.
 *
 * @return MPI_SUCCESS; MPI_ERR_COMM; MPI_ERR_ARG (negative, or more than 2^27); MPI_ERR_NO_MEM. A failure of
 *         one process is returned by all, and all keep their counters.
 */
MPIX_RMA_API int MPIX_RMA_Set_num_notify(MPI_Comm communicator, int num);

/**
 * Returns the number of counters that this process has on a communicator.
 *
 * @param communicator  the communicator
 * @param num           receives the number; 0 before MPIX_RMA_Set_num_notify
 *
 * Local.
 *
 * @return MPI_SUCCESS; MPI_ERR_COMM; MPI_ERR_ARG.
 */
MPIX_RMA_API int MPIX_RMA_Get_num_notify(MPI_Comm communicator, int *num);

/**
 * Returns the current value of a counter of this process. The data of the counted operations is visible
 * afterwards.
 *
 * @param communicator      the communicator
 * @param notification_idx  index of the counter, from 0
 * @param value             receives the value
 *
 * Local.
 *
 * @return MPI_SUCCESS; MPI_ERR_COMM; MPI_ERR_ARG (no such counter, null pointer).
 */
MPIX_RMA_API int MPIX_RMA_Get_notify_value(MPI_Comm communicator, int notification_idx, MPI_Count *value);

/**
 * Atomically sets a counter of this process to zero and returns its previous value: no increment is lost.
 *
 * @param communicator      the communicator
 * @param notification_idx  index of the counter, from 0
 * @param value             receives the previous value; may be NULL
 *
 * Local. Requests whose threshold is at most the previous value are complete, at the latest when MPI_Wait has
 * been called or the library has made progress; others continue to wait until
 * the counter, which begins at zero again, reaches their threshold.
 *
 * @return MPI_SUCCESS; MPI_ERR_COMM; MPI_ERR_ARG (no such counter).
 */
MPIX_RMA_API int MPIX_RMA_Reset_notify_value(MPI_Comm communicator, int notification_idx, MPI_Count *value);

/**
 * Creates a request that completes as soon as a counter of this process is at a threshold or beyond, at once
 * if the counter already is.
 *
 * @param communicator      the communicator
 * @param notification_idx  index of the counter, from 0
 * @param threshold         value to reach, not negative; the counter is not changed
 * @param request           receives the request, for MPI_Wait, MPI_Test and similar calls
 *
 * The call is local; other processes have to increment the counter before the request is complete. Several
 * requests may wait for one counter. MPI_Request_free is permitted, MPI_Cancel is erroneous. The request
 * fails with the address class if the counters are freed first, by MPIX_RMA_Set_num_notify or
 * MPI_Comm_free. A freed request no longer waits.
 *
 * @return MPI_SUCCESS; MPI_ERR_COMM; MPI_ERR_ARG (no such counter, negative threshold); MPI_ERR_REQUEST (null
 *         pointer); MPI_ERR_NO_MEM.
 */
MPIX_RMA_API int MPIX_RMA_Wait_notify_value(MPI_Comm communicator, int notification_idx, MPI_Count threshold,
                                            MPI_Request *request);

#ifdef __cplusplus
}
#endif
#endif
