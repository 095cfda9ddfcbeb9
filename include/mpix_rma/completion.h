/** Completion, order, errors (5.2). Included by mpix_rma.h. */
#ifndef MPIX_RMA_COMPLETION_H
#define MPIX_RMA_COMPLETION_H

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Waits until every operation that this process issued before through *communicator to `target_rank` is
 * complete at the target (5.2).
 *
 * @param communicator  address of the communicator; operations through others are not waited for
 * @param target_rank   rank in it, MPIX_ALL_RANKS for all of its ranks, or MPI_PROC_NULL for none
 *
 * Local. On return the origin buffers are reusable, and the effects are in the target's memory, visible to
 * its loads and to every later operation of any process. Drives progress while waiting.
 *
 * @return MPI_SUCCESS; MPI_ERR_COMM; MPI_ERR_RANK; the transport class; the first error of an operation that
 *         no request has reported: the operation had no request, or failed after its request was complete.
 */
MPIX_RMA_API int MPIX_RMA_Complete(MPI_Comm *communicator, int target_rank);

/**
 * Orders every operation issued before through *communicator to `target_rank` before every operation to that
 * rank that is issued later (5.2): the effects of the former are visible at the target before those of the
 * latter, and a later GET reads memory in which every earlier PUT and ACCUMULATE is visible to all processes.
 *
 * @param communicator  address of the communicator
 * @param target_rank   rank in it, MPIX_ALL_RANKS for each of its ranks, or MPI_PROC_NULL for none
 *
 * Local; does not wait. A later operation on a faster path than an earlier one has to wait for it. Covers
 * earlier operations of other threads if the program has synchronised with them.
 *
 * @return MPI_SUCCESS; MPI_ERR_COMM; MPI_ERR_RANK; the transport class (the rank cannot be reached).
 */
MPIX_RMA_API int MPIX_RMA_Fence(MPI_Comm *communicator, int target_rank);

/**
 * The two error classes that MPI lacks: no memory at the target address, and no connection to the target.
 * MPI_Error_class returns them for the codes of such errors.
 *
 * @param address    receives the class of operations on unmapped memory
 * @param transport  receives the class of operations whose target is unreachable
 *
 * Local; fixed from the first call of the library to MPI_Finalize.
 *
 * @return MPI_SUCCESS; MPI_ERR_ARG.
 */
MPIX_RMA_API int MPIX_RMA_Error_classes(int *address, int *transport);

#ifdef __cplusplus
}
#endif
#endif
