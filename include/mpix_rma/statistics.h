/** Counters of the protocols that operations take. Included by mpix_rma.h. */
#ifndef MPIX_RMA_STATISTICS_H
#define MPIX_RMA_STATISTICS_H

#ifndef MPIX_RMA_H
#error "include mpix_rma.h, of which this header is a part"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** The protocols by which an operation reaches its target. Further ones may follow. */
typedef MPIX_RMA_ENUM_(MPIX_RMA_Protocol) {
    MPIX_RMA_PROTOCOL_DIRECT = 1,       /**< loads and stores to mapped memory of the same host */
    MPIX_RMA_PROTOCOL_CROSS_MEMORY = 2, /**< process_vm_readv and process_vm_writev on the same host */
    MPIX_RMA_PROTOCOL_NETWORK = 3,      /**< UCX put and get */
    MPIX_RMA_PROTOCOL_RING = 4,         /**< requests in shared memory to a polling process of the host */
    MPIX_RMA_PROTOCOL_MESSAGE = 5,      /**< messages that the target's CPU executes */
    MPIX_RMA_PROTOCOL_ALL = 0           /**< the sum over all of them */
} MPIX_RMA_Protocol;

/** The counters of MPIX_RMA_Statistics. Further ones may follow. */
typedef MPIX_RMA_ENUM_(MPIX_RMA_Statistic) {
    MPIX_RMA_STATISTIC_OPERATIONS = 1,        /**< operations, of one protocol or all */
    MPIX_RMA_STATISTIC_BYTES = 2,             /**< bytes of their target data, of one protocol or all */
    MPIX_RMA_STATISTIC_MESSAGES_SENT = 3,     /**< requests to the rank, for operations and by the library */
    MPIX_RMA_STATISTIC_MESSAGES_EXECUTED = 4, /**< requests from the rank that this process executed */
    MPIX_RMA_STATISTIC_COUNTED = 5            /**< 1 if operations of the protocol (of all protocols) are
                                                   counted, else 0 */
} MPIX_RMA_Statistic;

/**
 * Returns a counter of this process's communication with a rank. All counters start at 0 in MPI_Init and only
 * grow. An addition to the proposal.
 *
 * One call of a transfer or read-modify-write counts as one operation, however it is executed; its bytes are
 * those of its data at the target. Operations without data, and those that the call itself rejected, are not
 * counted. The increment of a notification counter belongs to its operation and is not counted separately.
 *
 * @param communicator  the communicator; it only identifies the ranks: operations with the process
 *                      of a rank count through any communicator
 * @param target_rank   rank in it (of the remote group for an intercommunicator), MPIX_ALL_RANKS for the sum
 *                      over its ranks, or MPI_PROC_NULL, whose counters are 0 except
 *                      MPIX_RMA_STATISTIC_COUNTED
 * @param which         the counter
 * @param protocol      the protocol, or MPIX_RMA_PROTOCOL_ALL. Not significant for the numbers of messages
 * @param value         receives the count
 *
 * Local; any thread, any time: concurrent operations of other threads may or may not be included. An
 * operation is counted when it is issued, and a message when it is handed to UCX.
 *
 * Loads and stores are not counted by default, because counting would take longer than the accesses: then
 * MPIX_RMA_STATISTIC_COUNTED is 0 for MPIX_RMA_PROTOCOL_DIRECT and MPIX_RMA_PROTOCOL_ALL, and the other
 * counters of MPIX_RMA_PROTOCOL_DIRECT are 0. With the MCA parameter
 * osc_mpix_statistics set to 1, or the environment variable MPIX_RMA_STATISTICS (docs/debugging.md), which
 * also prints the counters in MPI_Finalize, every operation takes a slower way that counts it.
 *
 * @return MPI_SUCCESS; MPI_ERR_COMM; MPI_ERR_RANK; MPI_ERR_ARG (null pointer, no such counter or protocol).
 */
MPIX_RMA_API int MPIX_RMA_Statistics(MPI_Comm communicator, int target_rank, MPIX_RMA_Statistic which,
                                     MPIX_RMA_Protocol protocol, MPI_Count *value);

#ifdef __cplusplus
}
#endif
#endif
