/**
 * MPIX_RMA: attribute-driven one-sided communication for MPI.
 *
 * A target is named by a communicator, a rank and a virtual address in that rank's process: there are
 * no windows and no epochs. By default a call is non-blocking, unordered, not atomic, and complete when
 * the origin buffer may be reused; attributes add guarantees, per call or per communicator, and cost
 * nothing unless set. Section numbers in the comments are those of the MPI3-RMA proposal of 2008.
 *
 * Thread level: every function may be called by any thread that may call MPI. Unless it is called
 * collective, a function is local: it needs no action of the application at any other process.
 *
 * Errors: every function returns an MPI error code after invoking the error handler of the communicator
 * (MPI_COMM_WORLD's where there is no valid communicator argument). A refused call changes nothing.
 */
#ifndef MPIX_RMA_H
#define MPIX_RMA_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MPIX_RMA_API __attribute__((visibility("default")))

/** All ranks of a communicator, for MPIX_RMA_Complete and MPIX_RMA_Fence (5.2: MPI_ALL_RANKS). */
#define MPIX_ALL_RANKS (-101)

/** Operation types of MPIX_RMA_xfer (5.1). */
typedef enum MPIX_RMA_Op {
    MPIX_RMA_PUT = 1,       /**< origin memory to target memory */
    MPIX_RMA_GET = 2,       /**< target memory to origin memory */
    MPIX_RMA_ACCUMULATE = 3 /**< combine origin memory into target memory */
} MPIX_RMA_Op;

/** Operation types of MPIX_RMA_rmw (5.1). */
typedef enum MPIX_RMW_Op {
    MPIX_RMW_INC = 1, /**< increment */
    MPIX_RMW_PROD,
    MPIX_RMW_SUM,
    MPIX_RMW_LAND,
    MPIX_RMW_LOR,
    MPIX_RMW_LXOR,
    MPIX_RMW_BAND,
    MPIX_RMW_BOR,
    MPIX_RMW_BXOR,
    MPIX_RMW_SWAP
} MPIX_RMW_Op;

/** Attributes of an operation (5.1.1, 5.4): bits of MPIX_RMA_Attributes::set. */
#define MPIX_RMA_ATTR_ATOMICITY UINT64_C(0x01) /**< does not interleave with other atomic operations */
#define MPIX_RMA_ATTR_ORDERING UINT64_C(0x02)  /**< ordered against other such operations to the target */
#define MPIX_RMA_ATTR_BLOCKING UINT64_C(0x04)  /**< returns when complete */
#define MPIX_RMA_ATTR_REMOTE_COMPLETION UINT64_C(0x08)     /**< complete means in the target's memory */
#define MPIX_RMA_ATTR_ORIGIN_COMMUNICATABLE UINT64_C(0x10) /**< origin memory is allocated or registered */
#define MPIX_RMA_ATTR_TARGET_COMMUNICATABLE UINT64_C(0x20) /**< target memory is allocated or registered */
#define MPIX_RMA_ATTR_ACCUMULATE_OP UINT64_C(0x40)         /**< accumulate_op is valid; otherwise MPI_SUM */
#define MPIX_RMA_ATTR_ACCUMULATE_SCALE UINT64_C(0x80) /**< accumulate_scale is valid; only with MPI_SUM */

/** Attributes of one call. Fields beyond `set` are read only when their bit is set. */
typedef struct MPIX_RMA_Attributes {
    uint64_t set;                 /**< MPIX_RMA_ATTR_* bits */
    MPI_Op accumulate_op;         /**< predefined operation of an accumulate */
    const void *accumulate_scale; /**< one element of the accumulate's predefined datatype, multiplied with
                                       each origin element; read during the call */
} MPIX_RMA_Attributes;

/**
 * Moves data between this process and `target_rank` (5.1, 5.3 first form).
 *
 * @param op               MPIX_RMA_PUT, MPIX_RMA_GET or MPIX_RMA_ACCUMULATE
 * @param origin_addr      address in this process; written by GET only
 * @param origin_count     elements of origin_datatype, not negative
 * @param origin_datatype  committed datatype
 * @param target_rank      rank in *communicator (in the remote group of an intercommunicator), this
 *                         process included; MPI_PROC_NULL: nothing is done
 * @param target_addr      virtual address in the target process, as the target itself sees it: allocated,
 *                         registered, or any other memory that it may read and write
 * @param target_count     elements of target_datatype, not negative
 * @param target_datatype  committed datatype with as many data bytes as the origin's; for ACCUMULATE
 *                         both are built of the same predefined datatype
 * @param request          set to a request that MPI_Wait and its like complete, or NULL: the operation
 *                         is completed by MPIX_RMA_Complete. Of its status only MPI_ERROR has a meaning
 * @param communicator     address of the communicator
 * @param rma_attr_val     address of an MPIX_RMA_Attributes, or NULL for none; joined with what is set on
 *                         the communicator
 *
 * Local; returns without waiting unless MPIX_RMA_ATTR_BLOCKING is set. Complete means that the origin
 * buffer may be reused (PUT, ACCUMULATE) or holds the data (GET); with MPIX_RMA_ATTR_REMOTE_COMPLETION,
 * that the target's memory holds the result. The target takes no action.
 *
 * @return MPI_SUCCESS; MPI_ERR_COMM; MPI_ERR_OP (unknown operation, or not defined for the datatype);
 *         MPI_ERR_COUNT; MPI_ERR_TYPE (not committed, or the two sides do not fit); MPI_ERR_RANK;
 *         MPI_ERR_BUFFER (null origin); MPI_ERR_ARG (null target, unknown attribute); the address class
 *         (nothing stands at the target address) and the transport class of MPIX_RMA_Error_classes, which
 *         may also come from the request's completion or from MPIX_RMA_Complete.
 */
MPIX_RMA_API int MPIX_RMA_xfer(MPIX_RMA_Op op, void *origin_addr, int origin_count,
                               MPI_Datatype origin_datatype, int target_rank, void *target_addr,
                               int target_count, MPI_Datatype target_datatype, MPI_Request *request,
                               MPI_Comm *communicator, void *rma_attr_val);

/**
 * Reads, modifies and writes elements at the target, each as if in some order with all other such
 * operations on it (5.1).
 *
 * @param op            what becomes of the target: see MPIX_RMW_Op. MPIX_RMW_INC adds one.
 * @param operand_addr  `count` elements; ignored by MPIX_RMW_INC
 * @param count         elements, not negative; each is atomic by itself, all together with
 *                      MPIX_RMA_ATTR_ATOMICITY
 * @param datatype      predefined, or derived without gaps from one predefined datatype
 * @param result_addr   receives the elements as they were before; NULL: they are not fetched
 * @param target_rank   as for MPIX_RMA_xfer
 * @param target_disp   address of the first element in the target process, as from MPI_Get_address there
 * @param request       as for MPIX_RMA_xfer
 * @param communicator  as for MPIX_RMA_xfer
 * @param rmw_attr_val  as for MPIX_RMA_xfer
 *
 * Local and non-blocking as MPIX_RMA_xfer; complete when result_addr holds the result and operand_addr may
 * be reused. Target elements must not be accessed otherwise meanwhile (5.2.1).
 *
 * @return as MPIX_RMA_xfer; MPI_ERR_OP also for an operation that is not defined for the datatype.
 */
MPIX_RMA_API int MPIX_RMA_rmw(MPIX_RMW_Op op, void *operand_addr, int count, MPI_Datatype datatype,
                              void *result_addr, int target_rank, MPI_Aint target_disp, MPI_Request *request,
                              MPI_Comm *communicator, void *rmw_attr_val);

/**
 * Waits until every operation that this process issued before through *communicator to `target_rank`, or
 * with MPIX_ALL_RANKS to all its ranks, is complete at the target (5.2).
 *
 * Local. On return the origin buffers are reusable, and the effects are in the target's memory, visible to
 * its loads and to every later operation of anybody. Drives progress while it waits.
 *
 * @return MPI_SUCCESS; MPI_ERR_COMM; MPI_ERR_RANK; the first error of an operation without a request.
 */
MPIX_RMA_API int MPIX_RMA_Complete(MPI_Comm *communicator, int target_rank);

/**
 * Orders every operation issued before through *communicator to `target_rank` (MPIX_ALL_RANKS: to each of
 * its ranks) before every operation to that rank issued later (5.2). Local; does not wait.
 *
 * @return MPI_SUCCESS; MPI_ERR_COMM; MPI_ERR_RANK.
 */
MPIX_RMA_API int MPIX_RMA_Fence(MPI_Comm *communicator, int target_rank);

/**
 * Allocates `size` bytes of communicatable memory at every rank of an intracommunicator (5.4).
 *
 * Collective; sizes may differ. Memory is aligned to 64 bytes, from 256 KiB on to a page.
 *
 * @param size          bytes, not negative; 0 gives a null pointer
 * @param info          reserved; MPI_INFO_NULL
 * @param communicator  address of the communicator
 * @param bases         array of communicator-size pointers: receives every rank's base address
 *
 * @return MPI_SUCCESS; MPI_ERR_COMM; MPI_ERR_ARG; MPI_ERR_NO_MEM. A failure of one rank is returned by all,
 *         and nothing stays allocated.
 */
MPIX_RMA_API int MPIX_RMA_Allocate(MPI_Aint size, MPI_Info info, MPI_Comm *communicator, void *bases[]);

/**
 * Frees memory from MPIX_RMA_Allocate. Collective over the same communicator; completes its operations
 * first. `base` is the caller's own base, NULL where its size was 0.
 *
 * @return MPI_SUCCESS; MPI_ERR_COMM; MPI_ERR_ARG (not such memory), on all ranks.
 */
MPIX_RMA_API int MPIX_RMA_Free(void *base, MPI_Comm *communicator);

/** As MPIX_RMA_Allocate for this process alone. Local. `size` positive, in bytes.
 *  @return MPI_SUCCESS; MPI_ERR_ARG; MPI_ERR_NO_MEM. */
MPIX_RMA_API int MPIX_RMA_Allocate_local(MPI_Aint size, MPI_Info info, void **base);

/** Frees memory from MPIX_RMA_Allocate_local. Local; on return no process reaches it any more.
 *  Operations on it must be complete.
 *  @return MPI_SUCCESS; MPI_ERR_ARG (not such memory). */
MPIX_RMA_API int MPIX_RMA_Free_local(void *base);

/** Makes [base, base + size) of the caller's own memory communicatable. Local. It may not overlap other
 *  communicatable memory, and must stay mapped until MPIX_RMA_Deregister.
 *  @return MPI_SUCCESS; MPI_ERR_ARG (null, empty or overlapping); the address class. */
MPIX_RMA_API int MPIX_RMA_Register(void *base, MPI_Aint size);

/** Ends MPIX_RMA_Register; `base` as given there. Local.
 *  @return MPI_SUCCESS; MPI_ERR_ARG (not registered). */
MPIX_RMA_API int MPIX_RMA_Deregister(void *base);

/** The two error classes that MPI does not have: no memory at the target address, and no connection to the
 *  target. Local; fixed from the first call of the library to MPI_Finalize.
 *  @return MPI_SUCCESS; MPI_ERR_ARG. */
MPIX_RMA_API int MPIX_RMA_Error_classes(int *address, int *transport);

#ifdef __cplusplus
}
#endif
#endif
