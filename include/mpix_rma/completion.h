/** Completion, order, errors (5.2). Included by mpix_rma.h. */
#ifndef MPIX_RMA_COMPLETION_H
#define MPIX_RMA_COMPLETION_H

#ifndef MPIX_RMA_H
#error "include mpix_rma.h, of which this header is a part"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Waits until every operation that this process issued before through *communicator to `target_rank` is
 * complete at the target (5.2).
 *
 * @param communicator  address of the communicator; operations through others are not covered: the call may
 *                      wait for them, and reports none of their errors
 * @param target_rank   rank in it, MPIX_ALL_RANKS for all of its ranks, or MPI_PROC_NULL for none
 *
 * Local. On return the origin buffers of PUT, ACCUMULATE and rmw may be changed, and those of GET and the
 * results of rmw hold their data. The effects are in the target's memory, visible to later operations of this
 * process, and to loads and operations of any process that has synchronised with this one afterwards
 * (docs/semantics.md, Memory model); the notification counters are incremented. Operations with a request
 * are covered, too; their requests remain to be completed. Drives progress while waiting.
 *
 * @return MPI_SUCCESS; MPI_ERR_COMM; MPI_ERR_RANK; the transport class; the error of an operation that no
 *         request reports: the operation had no request, or failed after its request was complete, or
 *         MPI_Request_free has freed its request. The first call that covers the operation's target returns
 *         the error. Of several such errors it returns the first that it finds, and discards the others.
 */
MPIX_RMA_API int MPIX_RMA_Complete(MPI_Comm *communicator, int target_rank);

/**
 * Waits until the buffers of every operation that this process issued before through *communicator to
 * `target_rank` may be reused. An addition to the proposal, which corresponds to MPI_Win_flush_local.
 *
 * @param communicator  address of the communicator; operations through others are not covered
 * @param target_rank   rank in it, MPIX_ALL_RANKS for all of its ranks, or MPI_PROC_NULL for none
 *
 * Local; drives progress while waiting. On return the origin buffers of PUT, ACCUMULATE and rmw may be
 * changed, and those of GET and the results of rmw hold their data. Waits for the target only if an operation
 * returns data or has ATOMICITY, or if the target's credit is used up. The operations may still fail;
 * MPIX_RMA_Complete reports the failure.
 *
 * @return MPI_SUCCESS; MPI_ERR_COMM; MPI_ERR_RANK; the transport class (the rank cannot be reached).
 */
MPIX_RMA_API int MPIX_RMA_Complete_local(MPI_Comm *communicator, int target_rank);

/**
 * MPIX_RMA_Complete and MPIX_RMA_Complete_local with a request: do not wait. The request is complete when the
 * corresponding call would return. Additions to the proposal, which correspond to MPIX_Win_iflush and
 * MPIX_Win_iflush_local.
 *
 * @param communicator  address of the communicator; operations through others are not covered
 * @param target_rank   rank in it, MPIX_ALL_RANKS for all of its ranks, or MPI_PROC_NULL for none
 * @param request       receives the request, for MPI_Wait, MPI_Test and similar calls
 *
 * Local; does not wait. Covers the operations issued before, and none that are issued later. The request of
 * MPIX_RMA_Icomplete reports the failure that MPIX_RMA_Complete would return, except that of an operation
 * whose request was freed before that request was complete, which only MPIX_RMA_Complete reports. As long
 * as the program has neither completed nor freed it, the request of MPIX_RMA_Icomplete alone reports
 * failures that it covers: MPIX_RMA_Complete does not. Of several such requests the one that was issued
 * first reports it; if it is freed, MPIX_RMA_Complete does. The request of MPIX_RMA_Icomplete_local reports
 * no failure. With MPI_PROC_NULL the request is complete. MPI_Request_free is permitted, MPI_Cancel is
 * erroneous; the status of MPI_Wait has MPI_ANY_SOURCE, MPI_ANY_TAG and no bytes.
 *
 * @return MPI_SUCCESS; MPI_ERR_COMM; MPI_ERR_RANK; MPI_ERR_REQUEST (null pointer); MPI_ERR_NO_MEM; the
 *         transport class (the rank cannot be reached).
 */
MPIX_RMA_API int MPIX_RMA_Icomplete(MPI_Comm *communicator, int target_rank, MPI_Request *request);
MPIX_RMA_API int MPIX_RMA_Icomplete_local(MPI_Comm *communicator, int target_rank, MPI_Request *request);

/**
 * Orders every operation issued before through *communicator to `target_rank` before every operation to that
 * rank that is issued later (5.2): the effects of the former are visible at the target before those of the
 * latter; a later GET reads memory in which every earlier PUT, ACCUMULATE and rmw is visible to all
 * processes; and an earlier GET finds no effect of a later operation.
 * With MPIX_ALL_RANKS it orders the operations issued before to any rank of the communicator before those
 * issued later to any rank.
 *
 * @param communicator  address of the communicator
 * @param target_rank   rank in it, MPIX_ALL_RANKS for all of its ranks, or MPI_PROC_NULL for none
 *
 * Local; does not wait. A later operation may have to wait for an earlier one that uses another protocol or,
 * after a fence with MPIX_ALL_RANKS, another target. Later operations through any communicator are ordered,
 * with MPIX_ALL_RANKS also those to processes outside *communicator. Covers operations of other threads whose
 * calls happen before this one.
 *
 * @return MPI_SUCCESS; MPI_ERR_COMM; MPI_ERR_RANK; the transport class (the rank cannot be reached).
 */
MPIX_RMA_API int MPIX_RMA_Fence(MPI_Comm *communicator, int target_rank);

/** The error classes that MPI lacks. Further ones may follow. */
typedef MPIX_RMA_ENUM_(MPIX_RMA_Error) {
    MPIX_RMA_ERR_ADDRESS = 1,     /**< target memory not mapped, or not readable or writable */
    MPIX_RMA_ERR_TRANSPORT = 2,   /**< no connection to the target */
    MPIX_RMA_ERR_NOTIFICATION = 3 /**< notification index out of range, of calls on windows */
} MPIX_RMA_Error;

/**
 * Returns an error class that MPI lacks. MPI_Error_class returns it for the codes of such errors.
 *
 * @param which        the class
 * @param error_class  receives its number
 *
 * Local; fixed from the first call of the library to MPI_Finalize. Open MPI 4.1 does not accept such a class
 * in the place of a code: MPI_Error_class of it gives MPI_ERR_UNKNOWN.
 *
 * @return MPI_SUCCESS; MPI_ERR_ARG (null pointer, or no such class).
 */
MPIX_RMA_API int MPIX_RMA_Error_class(MPIX_RMA_Error which, int *error_class);

#ifdef __cplusplus
}
#endif
#endif
