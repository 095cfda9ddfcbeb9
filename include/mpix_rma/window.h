/**
 * Extensions of MPI windows: calls that order and complete operations; and notified operations, which
 * increment counters at their targets, like the notified communication proposed for MPI 6 (12.6 of its
 * draft). Included by mpix_rma.h.
 */
#ifndef MPIX_RMA_WINDOW_H
#define MPIX_RMA_WINDOW_H

#ifndef MPIX_RMA_H
#error "include mpix_rma.h, of which this header is a part"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Orders all operations issued to a target before all operations issued to it later.
 *
 * @param rank  of the target; with MPI_PROC_NULL nothing is done
 * @param win   a window of this library, in a passive-target epoch
 *
 * Completes nothing: buffers stay in use. Usually returns at once. It waits only for messages outstanding to
 * a target that this process also reaches by load and store. A later operation waits if it uses another
 * protocol than earlier ones. Covers the operations that any thread issued before the call.
 *
 * @return MPI_SUCCESS; MPI_ERR_WIN (another component's); MPI_ERR_RANK; MPI_ERR_RMA_SYNC (the target is not
 * locked); MPI_ERR_UNSUPPORTED_OPERATION; the class of an operation that has failed.
 */
MPIX_RMA_API int MPIX_Win_order(int rank, MPI_Win win);

/**
 * MPIX_Win_order for each target of a window.
 *
 * @param win  a window of this library, in a passive-target epoch
 *
 * Does not order operations to different targets.
 *
 * @return as MPIX_Win_order.
 */
MPIX_RMA_API int MPIX_Win_order_all(MPI_Win win);

/**
 * MPI_Win_flush with a request: does not wait.
 *
 * @param rank     of the target; with MPI_PROC_NULL the request is complete
 * @param win      a window of this library, in a passive-target epoch
 * @param request  receives the request, for MPI_Wait, MPI_Test and similar calls
 *
 * The request completes when all operations that any thread issued to the target before the call are complete
 * there, and no later ones. As long as the program has neither completed nor freed the request, it alone
 * reports their failures. MPI_Win_free and synchronisation calls wait for it if the program has not.
 *
 * @return MPI_SUCCESS; MPI_ERR_WIN (another component's); MPI_ERR_RANK; MPI_ERR_RMA_SYNC (the target is not
 * locked); MPI_ERR_REQUEST (null pointer); MPI_ERR_NO_MEM; MPI_ERR_UNSUPPORTED_OPERATION.
 */
MPIX_RMA_API int MPIX_Win_iflush(int rank, MPI_Win win, MPI_Request *request);

/**
 * MPI_Win_flush_all with a request: does not wait.
 *
 * @param win      a window of this library, in a passive-target epoch
 * @param request  receives the request, which covers all targets as MPIX_Win_iflush covers one
 *
 * @return as MPIX_Win_iflush.
 */
MPIX_RMA_API int MPIX_Win_iflush_all(MPI_Win win, MPI_Request *request);

/**
 * MPI_Win_flush_local with a request: does not wait.
 *
 * @param rank     of the target; with MPI_PROC_NULL the request is complete
 * @param win      a window of this library, in a passive-target epoch
 * @param request  receives the request, which completes when the buffers of all operations issued to the
 *                 target before the call may be reused
 *
 * @return as MPIX_Win_iflush.
 */
MPIX_RMA_API int MPIX_Win_iflush_local(int rank, MPI_Win win, MPI_Request *request);

/**
 * MPI_Win_flush_local_all with a request: does not wait.
 *
 * @param win      a window of this library, in a passive-target epoch
 * @param request  receives the request, which covers all targets as MPIX_Win_iflush_local covers one
 *
 * @return as MPIX_Win_iflush.
 */
MPIX_RMA_API int MPIX_Win_iflush_local_all(MPI_Win win, MPI_Request *request);

/**
 * MPI_Win_flush_all on several windows, with one wait for all their targets.
 *
 * @param count  number of windows, not negative
 * @param wins   windows of this library, each in a passive-target epoch; a window may occur twice
 *
 * If an element of `wins` is not such a window, the call returns without waiting.
 *
 * @return MPI_SUCCESS; MPI_ERR_ARG (negative count, null pointer), through the handler of MPI_COMM_WORLD.
 *         Through the handler of the window: MPI_ERR_WIN (window of another component; for MPI_WIN_NULL
 *         through that of MPI_COMM_WORLD); MPI_ERR_RMA_SYNC; MPI_ERR_UNSUPPORTED_OPERATION; the class of
 *         the first failed operation, after all windows are flushed.
 */
MPIX_RMA_API int MPIX_Win_flush_windows(int count, const MPI_Win wins[]);

/**
 * MPI_Win_flush for the operations that the calling thread has issued to a target.
 *
 * @param rank  of the target; with MPI_PROC_NULL nothing is done
 * @param win   a window of this library, in a passive-target epoch
 *
 * May also wait for earlier operations of other threads, because the library keeps one record of outstanding
 * operations per target for all threads. Does not wait for operations that other threads issue meanwhile.
 *
 * @return as MPIX_Win_order.
 */
MPIX_RMA_API int MPIX_Win_flush_thread(int rank, MPI_Win win);

/**
 * MPIX_Win_flush_thread for each target of a window.
 *
 * @param win  a window of this library, in a passive-target epoch
 *
 * @return as MPIX_Win_order.
 */
MPIX_RMA_API int MPIX_Win_flush_thread_all(MPI_Win win);

/* Attribute keys of windows, for MPI_Win_get_attr. Each is a call of MPIX_RMA_Keyval: valid from MPI_Init to
 * MPI_Finalize. All windows of this library have them. As for predefined attributes, the value is an address:
 * of an int, the suggested number of notification counters; of an int, the maximum number of counters of a
 * process; of an MPI_Count, the maximum value of a counter. A window from MPIX_Win_connect has zeros; any
 * other has 512 and 2^27 for the first two, unless the info key mpi_assert_max_num_notify at window creation
 * sets both. */
#define MPIX_WIN_NOTIFICATION_NUM_SB MPIX_RMA_Keyval("MPIX_WIN_NOTIFICATION_NUM_SB")
#define MPIX_WIN_NOTIFICATION_NUM_UB MPIX_RMA_Keyval("MPIX_WIN_NOTIFICATION_NUM_UB")
#define MPIX_WIN_NOTIFICATION_VALUE_UB MPIX_RMA_Keyval("MPIX_WIN_NOTIFICATION_VALUE_UB")

/**
 * Allocates the notification counters of each process of a window, all zero, and frees the previous counters.
 *
 * @param win   a window of this library that is not from MPIX_Win_connect
 * @param info  hints, or MPI_INFO_NULL; mpi_assert_same_num_notifications has no effect
 * @param num   number of counters of this process, not fewer than before, at most 2^27; processes may differ
 *
 * Collective over the window; the notified operations of every process on it must be complete at their
 * targets, by MPI_Win_flush or the end of the epoch. On return every process has its
 * new counters, which can be incremented. MPI_Win_free frees them. A process at which the call fails takes
 * part in the call and keeps its counters; lack of memory at one process fails the call at all processes.
 *
 * @return MPI_SUCCESS; MPI_ERR_WIN (another component's); MPI_ERR_ARG (negative, fewer than before, or more
 *         than 2^27 or the window's mpi_assert_max_num_notify); MPI_ERR_RMA_SYNC (a passive-target epoch, or
 *         an epoch of MPI_Win_start, is open here); MPI_ERR_NO_MEM; MPI_ERR_UNSUPPORTED_OPERATION.
 */
MPIX_RMA_API int MPIX_Win_set_num_notify(MPI_Win win, MPI_Info info, int num);

/**
 * Returns the number of notification counters that a process has on a window.
 *
 * @param win   a window of this library
 * @param rank  of the process; MPI_PROC_NULL is MPI_ERR_RANK
 * @param num   receives the number; 0 before MPIX_Win_set_num_notify
 *
 * Local.
 *
 * @return MPI_SUCCESS; MPI_ERR_WIN; MPI_ERR_RANK; MPI_ERR_ARG (null pointer); MPI_ERR_UNSUPPORTED_OPERATION.
 */
MPIX_RMA_API int MPIX_Win_get_num_notify(MPI_Win win, int rank, int *num);

/**
 * Returns the current value of a notification counter of this process. The data of the counted operations is
 * visible afterwards.
 *
 * @param win               a window of this library
 * @param notification_idx  index of the counter, from 0
 * @param value             receives the value
 *
 * Local.
 *
 * @return MPI_SUCCESS; MPI_ERR_WIN; the class MPIX_RMA_ERR_NOTIFICATION (no such counter); MPI_ERR_ARG (null
 *         pointer); MPI_ERR_UNSUPPORTED_OPERATION.
 */
MPIX_RMA_API int MPIX_Win_get_notify_value(MPI_Win win, int notification_idx, MPI_Count *value);

/**
 * Atomically sets a notification counter of this process to zero and returns its previous value: no increment
 * is lost.
 *
 * @param win               a window of this library
 * @param notification_idx  index of the counter, from 0
 * @param value             receives the previous value; may be NULL
 *
 * Local. Requests whose threshold is at most the previous value are complete; others continue to wait until
 * the counter, which begins at zero again, reaches their threshold.
 *
 * @return MPI_SUCCESS; MPI_ERR_WIN; the class MPIX_RMA_ERR_NOTIFICATION (no such counter);
 *         MPI_ERR_UNSUPPORTED_OPERATION.
 */
MPIX_RMA_API int MPIX_Win_reset_notify_value(MPI_Win win, int notification_idx, MPI_Count *value);

/**
 * Creates a request that completes as soon as a notification counter of this process is at a threshold or
 * beyond, at once if the counter already is.
 *
 * @param win               a window of this library
 * @param notification_idx  index of the counter, from 0
 * @param threshold         value to reach, not negative; the counter is not changed
 * @param request           receives the request, for MPI_Wait, MPI_Test and similar calls
 *
 * Local. The request fails with the address class, through the handler of MPI_COMM_WORLD, if the counters are
 * freed first.
 *
 * @return MPI_SUCCESS; MPI_ERR_WIN; MPI_ERR_ARG (negative threshold); MPI_ERR_REQUEST (null pointer); the
 *         class MPIX_RMA_ERR_NOTIFICATION (no such counter); MPI_ERR_NO_MEM; MPI_ERR_UNSUPPORTED_OPERATION.
 */
MPIX_RMA_API int MPIX_Win_wait_notify_value(MPI_Win win, int notification_idx, MPI_Count threshold,
                                            MPI_Request *request);

/**
 * As MPI_Put, and increments a notification counter of the target once the target's memory holds the data.
 *
 * @param origin_addr       as for MPI_Put
 * @param origin_count      as for MPI_Put
 * @param origin_datatype   as for MPI_Put
 * @param target_rank       as for MPI_Put
 * @param target_disp       as for MPI_Put
 * @param target_count      as for MPI_Put; an operation without data notifies, too
 * @param target_datatype   as for MPI_Put
 * @param notification_idx  index of the target's counter, from 0
 * @param win               a window of this library, in a passive-target epoch to the target
 *
 * @return as MPI_Put; MPI_ERR_RMA_SYNC also in other epochs; the class MPIX_RMA_ERR_NOTIFICATION (the target
 *         has no such counter; an operation that waits for its lock reports the error at its completion);
 *         MPI_ERR_UNSUPPORTED_OPERATION (a window from MPIX_Win_connect).
 */
MPIX_RMA_API int MPIX_Put_notify(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
                                 int target_rank, MPI_Aint target_disp, int target_count,
                                 MPI_Datatype target_datatype, int notification_idx, MPI_Win win);

/**
 * MPIX_Put_notify with a request, in passive-target epochs.
 *
 * @param origin_addr       as for MPI_Put
 * @param origin_count      as for MPI_Put
 * @param origin_datatype   as for MPI_Put
 * @param target_rank       as for MPI_Put
 * @param target_disp       as for MPI_Put
 * @param target_count      as for MPIX_Put_notify
 * @param target_datatype   as for MPI_Put
 * @param notification_idx  as for MPIX_Put_notify
 * @param win               as for MPIX_Put_notify
 * @param request           receives the request, which is complete as that of MPI_Rput
 *
 * @return as MPIX_Put_notify.
 */
MPIX_RMA_API int MPIX_Rput_notify(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
                                  int target_rank, MPI_Aint target_disp, int target_count,
                                  MPI_Datatype target_datatype, int notification_idx, MPI_Win win,
                                  MPI_Request *request);

/**
 * As MPI_Get, and increments a notification counter of the target once the target's memory has been read.
 *
 * @param origin_addr       as for MPI_Get
 * @param origin_count      as for MPI_Get
 * @param origin_datatype   as for MPI_Get
 * @param target_rank       as for MPI_Get
 * @param target_disp       as for MPI_Get
 * @param target_count      as for MPI_Get; an operation without data notifies, too
 * @param target_datatype   as for MPI_Get
 * @param notification_idx  as for MPIX_Put_notify
 * @param win               as for MPIX_Put_notify
 *
 * @return as MPIX_Put_notify.
 */
MPIX_RMA_API int MPIX_Get_notify(void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
                                 int target_rank, MPI_Aint target_disp, int target_count,
                                 MPI_Datatype target_datatype, int notification_idx, MPI_Win win);

/**
 * MPIX_Get_notify with a request, in passive-target epochs.
 *
 * @param origin_addr       as for MPI_Get
 * @param origin_count      as for MPI_Get
 * @param origin_datatype   as for MPI_Get
 * @param target_rank       as for MPI_Get
 * @param target_disp       as for MPI_Get
 * @param target_count      as for MPIX_Get_notify
 * @param target_datatype   as for MPI_Get
 * @param notification_idx  as for MPIX_Put_notify
 * @param win               as for MPIX_Put_notify
 * @param request           receives the request, which is complete as that of MPI_Rget
 *
 * @return as MPIX_Put_notify.
 */
MPIX_RMA_API int MPIX_Rget_notify(void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
                                  int target_rank, MPI_Aint target_disp, int target_count,
                                  MPI_Datatype target_datatype, int notification_idx, MPI_Win win,
                                  MPI_Request *request);

/**
 * As MPI_Accumulate, and increments a notification counter of the target once the target's memory is updated.
 *
 * @param origin_addr       as for MPI_Accumulate
 * @param origin_count      as for MPI_Accumulate
 * @param origin_datatype   as for MPI_Accumulate
 * @param target_rank       as for MPI_Accumulate
 * @param target_disp       as for MPI_Accumulate
 * @param target_count      as for MPI_Accumulate; an operation without data notifies, too
 * @param target_datatype   as for MPI_Accumulate
 * @param op                as for MPI_Accumulate
 * @param notification_idx  as for MPIX_Put_notify
 * @param win               as for MPIX_Put_notify
 *
 * @return as MPIX_Put_notify; MPI_ERR_OP.
 */
MPIX_RMA_API int MPIX_Accumulate_notify(const void *origin_addr, int origin_count,
                                        MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
                                        int target_count, MPI_Datatype target_datatype, MPI_Op op,
                                        int notification_idx, MPI_Win win);

/**
 * MPIX_Accumulate_notify with a request, in passive-target epochs.
 *
 * @param origin_addr       as for MPI_Accumulate
 * @param origin_count      as for MPI_Accumulate
 * @param origin_datatype   as for MPI_Accumulate
 * @param target_rank       as for MPI_Accumulate
 * @param target_disp       as for MPI_Accumulate
 * @param target_count      as for MPIX_Accumulate_notify
 * @param target_datatype   as for MPI_Accumulate
 * @param op                as for MPI_Accumulate
 * @param notification_idx  as for MPIX_Put_notify
 * @param win               as for MPIX_Put_notify
 * @param request           receives the request, which is complete as that of MPI_Raccumulate
 *
 * @return as MPIX_Accumulate_notify.
 */
MPIX_RMA_API int MPIX_Raccumulate_notify(const void *origin_addr, int origin_count,
                                         MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
                                         int target_count, MPI_Datatype target_datatype, MPI_Op op,
                                         int notification_idx, MPI_Win win, MPI_Request *request);

/**
 * As MPI_Get_accumulate, and increments a notification counter of the target once the target's memory is
 * updated.
 *
 * @param origin_addr       as for MPI_Get_accumulate
 * @param origin_count      as for MPI_Get_accumulate
 * @param origin_datatype   as for MPI_Get_accumulate
 * @param result_addr       as for MPI_Get_accumulate
 * @param result_count      as for MPI_Get_accumulate
 * @param result_datatype   as for MPI_Get_accumulate
 * @param target_rank       as for MPI_Get_accumulate
 * @param target_disp       as for MPI_Get_accumulate
 * @param target_count      as for MPI_Get_accumulate; an operation without data notifies, too
 * @param target_datatype   as for MPI_Get_accumulate
 * @param op                as for MPI_Get_accumulate
 * @param notification_idx  as for MPIX_Put_notify
 * @param win               as for MPIX_Put_notify
 *
 * @return as MPIX_Accumulate_notify.
 */
MPIX_RMA_API int MPIX_Get_accumulate_notify(const void *origin_addr, int origin_count,
                                            MPI_Datatype origin_datatype, void *result_addr, int result_count,
                                            MPI_Datatype result_datatype, int target_rank,
                                            MPI_Aint target_disp, int target_count,
                                            MPI_Datatype target_datatype, MPI_Op op, int notification_idx,
                                            MPI_Win win);

/**
 * MPIX_Get_accumulate_notify with a request, in passive-target epochs.
 *
 * @param origin_addr       as for MPI_Get_accumulate
 * @param origin_count      as for MPI_Get_accumulate
 * @param origin_datatype   as for MPI_Get_accumulate
 * @param result_addr       as for MPI_Get_accumulate
 * @param result_count      as for MPI_Get_accumulate
 * @param result_datatype   as for MPI_Get_accumulate
 * @param target_rank       as for MPI_Get_accumulate
 * @param target_disp       as for MPI_Get_accumulate
 * @param target_count      as for MPIX_Get_accumulate_notify
 * @param target_datatype   as for MPI_Get_accumulate
 * @param op                as for MPI_Get_accumulate
 * @param notification_idx  as for MPIX_Put_notify
 * @param win               as for MPIX_Put_notify
 * @param request           receives the request, which is complete as that of MPI_Rget_accumulate
 *
 * @return as MPIX_Accumulate_notify.
 */
MPIX_RMA_API int MPIX_Rget_accumulate_notify(const void *origin_addr, int origin_count,
                                             MPI_Datatype origin_datatype, void *result_addr,
                                             int result_count, MPI_Datatype result_datatype, int target_rank,
                                             MPI_Aint target_disp, int target_count,
                                             MPI_Datatype target_datatype, MPI_Op op, int notification_idx,
                                             MPI_Win win, MPI_Request *request);

#ifdef __cplusplus
}
#endif
#endif
