/** Counters of the paths that operations take. Included by mpix_rma.h. */
#ifndef MPIX_RMA_STATISTICS_H
#define MPIX_RMA_STATISTICS_H

#ifdef __cplusplus
extern "C" {
#endif

/** The paths of an operation to its target; indices of the fields of MPIX_RMA_Path_statistics. */
typedef MPIX_RMA_ENUM_(MPIX_RMA_Path){
    MPIX_RMA_PATH_DIRECT = 0,       /**< loads and stores to mapped memory of the same host */
    MPIX_RMA_PATH_CROSS_MEMORY = 1, /**< process_vm_readv and process_vm_writev on the same host */
    MPIX_RMA_PATH_NETWORK = 2,      /**< UCX put and get */
    MPIX_RMA_PATH_RING = 3,         /**< requests in shared memory to a process of the same host that polls */
    MPIX_RMA_PATH_MESSAGE = 4,      /**< messages that the target's agent executes */
    MPIX_RMA_PATHS = 5              /**< the number of them */
} MPIX_RMA_Path;

/**
 * Numbers of operations of this process and of bytes that they moved, by path, and numbers of messages in
 * both directions. All counters start at 0 in MPI_Init and only grow.
 *
 * One call of a transfer or read-modify-write counts as one operation, however it is executed; its bytes are
 * those of its data at the target. Operations without data, and those that the call itself rejected, are not
 * counted. The increment of a notification counter belongs to its operation and is not counted separately.
 */
typedef struct MPIX_RMA_Path_statistics {
    MPI_Count operations[MPIX_RMA_PATHS]; /**< operations, by MPIX_RMA_Path */
    MPI_Count bytes[MPIX_RMA_PATHS];      /**< bytes of their data, by MPIX_RMA_Path */
    MPI_Count messages_sent;     /**< requests to the agent there, an operation's or the library's own */
    MPI_Count messages_executed; /**< requests from there that this process has executed */
    int direct_counted;          /**< 0: those by MPIX_RMA_PATH_DIRECT are in none of the counts */
} MPIX_RMA_Path_statistics;

/**
 * Returns the counters of this process's communication with a rank, by path.
 *
 * @param communicator  the communicator; it only identifies the ranks: operations with the process
 *                      of a rank count through any communicator
 * @param target_rank   rank in it (of the remote group for an intercommunicator), MPIX_ALL_RANKS for the sum
 *                      over its ranks, or MPI_PROC_NULL, whose counters are 0
 * @param statistics    receives the counts
 *
 * Local; any thread, any time: concurrent operations of other threads may or may not be included. An
 * operation is counted when it is issued, and a message when it is handed to UCX.
 *
 * Loads and stores are not counted by default, because counting would take longer than the accesses: then
 * direct_counted and the counters of MPIX_RMA_PATH_DIRECT are 0. With the MCA parameter osc_mpix_statistics
 * set to 1, or the environment variable MPIX_RMA_STATISTICS (docs/debugging.md), which also prints the
 * counters in MPI_Finalize, every operation takes a slower path that counts it.
 *
 * @return MPI_SUCCESS; MPI_ERR_COMM; MPI_ERR_RANK; MPI_ERR_ARG (null pointer).
 */
MPIX_RMA_API int MPIX_RMA_Statistics(MPI_Comm communicator, int target_rank,
                                     MPIX_RMA_Path_statistics *statistics);

#ifdef __cplusplus
}
#endif
#endif
