/** Transfers (5.1, 5.3). Included by mpix_rma.h. */
#ifndef MPIX_RMA_XFER_H
#define MPIX_RMA_XFER_H

#ifndef MPIX_RMA_H
#error "include mpix_rma.h, of which this header is a part"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** Operation types of MPIX_RMA_xfer (5.1). */
typedef MPIX_RMA_ENUM_(MPIX_RMA_Op) {
    MPIX_RMA_PUT = 1,       /**< origin memory to target memory */
    MPIX_RMA_GET = 2,       /**< target memory to origin memory */
    MPIX_RMA_ACCUMULATE = 3 /**< combine origin memory into target memory. Without MPIX_RMA_ATTR_ATOMICITY
                                 concurrent updates of an element can be lost */
} MPIX_RMA_Op;

/**
 * Moves data between this process and `target_rank` (5.1, 5.3 first form).
 *
 * @param op               MPIX_RMA_PUT, MPIX_RMA_GET or MPIX_RMA_ACCUMULATE
 * @param origin_addr      address in this process. Written by GET and read by the others, so the parameter
 *                         has no const: a PUT of a constant object needs a cast in C
 * @param origin_count     elements of origin_datatype, not negative
 * @param origin_datatype  committed datatype
 * @param target_rank      rank in *communicator (in the remote group of an intercommunicator), this process
 *                         included; MPI_PROC_NULL: no buffer changes, no counter is incremented, and a
 *                         request is complete. Only `op`, counts with their datatypes, communicator,
 *                         attribute bits and whether a request object is in use are then checked
 * @param target_addr      virtual address in the target process, as the target itself sees it: allocated,
 *                         registered, or any other memory that the target may read (GET, and ACCUMULATE
 *                         with MPI_NO_OP), write (PUT), or read and write (ACCUMULATE). If the target is this
 *                         process, target and origin memory must not overlap: the data would be undefined
 * @param target_count     elements of target_datatype, not negative
 * @param target_datatype  committed datatype; all its elements together have as many data bytes as the
 *                         origin's. The padding of pair types does not count and is not accessed on either
 *                         side (MPI_DOUBLE_INT: 12 bytes). For ACCUMULATE both consist of the same predefined
 *                         datatype, or of two with the same representation, as MPI_LONG and MPI_INT64_T;
 *                         the result is undefined if elements of the target overlap each other
 * @param request          NULL: MPIX_RMA_Complete completes the operation. Otherwise receives a request for
 *                         MPI_Wait and similar calls, whatever the variable held before. In the status only
 *                         MPI_ERROR is significant, where the call sets it; MPI_Test_cancelled gives false,
 *                         MPI_Get_count 0. MPI_Request_free is permitted, MPI_Cancel is erroneous
 * @param communicator     address of the communicator
 * @param rma_attr_val     address of an MPIX_RMA_Attributes, not a mask of its bits, or NULL for none; merged
 *                         with the attributes of the communicator. For the operation and scale of an
 *                         accumulate and for the counter the call takes precedence
 *
 * Local; does not wait for the completion of the operation unless MPIX_RMA_ATTR_BLOCKING is set. It may wait
 * for earlier operations of this process: with ORDERING or after a Fence, if they use another protocol, and
 * when too much is in flight to the target. An operation with ATOMICITY may wait for locks. No wait depends
 * on a call by the application at the target, except while a lock that MPI_Win_lock has requested there is
 * pending (docs/semantics.md, Locks). Complete means that the origin buffer may be reused (PUT,
 * ACCUMULATE) or holds the data (GET); with MPIX_RMA_ATTR_REMOTE_COMPLETION or MPIX_RMA_ATTR_ATOMICITY, that
 * the target's memory holds the result, too.
 *
 * With MPIX_RMA_ATTR_BLOCKING or MPI_PROC_NULL the request is complete on return, and is still to be passed
 * to MPI_Wait or a similar call, or freed. If the call returns an error, there is no request: *request is
 * unchanged. Without data the addresses may be null, accumulate_op and accumulate_scale are ignored, the two
 * datatypes of an ACCUMULATE are not compared, and MPIX_RMA_ATTR_NOTIFY still increments the counter.
 * With data, a null address is MPI_BOTTOM for a datatype with absolute addresses, of this process or of the
 * target, and an error for a datatype whose data begin at a displacement below 4096.
 *
 * @return MPI_SUCCESS; MPI_ERR_COMM; MPI_ERR_OP (unknown operation, not defined for the datatype, or a scale
 *         with an operation other than MPI_SUM); MPI_ERR_COUNT (negative, or beyond the address space);
 *         MPI_ERR_TYPE (not committed, or the two sides do not match); MPI_ERR_RANK; MPI_ERR_BUFFER
 *         (null origin; also unmapped memory at origin_addr, which is detected only for a PUT or GET whose
 *         target memory is on the same host and not allocated by the library, and by some protocols for
 *         contiguous origins only; otherwise undefined as for any MPI call); MPI_ERR_ARG (null target or
 *         scale, unknown attribute, notification index out of range); the address class (the target memory is
 *         not mapped, or not readable or writable as above, or extends beyond its allocation; or origin_addr
 *         is device memory of CUDA or ROCm) and the transport class of MPIX_RMA_Error_class, and
 *         MPI_ERR_NO_MEM; these three may also come from the request's completion or from MPIX_RMA_Complete.
 */
MPIX_RMA_API int MPIX_RMA_xfer(MPIX_RMA_Op op, void *origin_addr, int origin_count,
                               MPI_Datatype origin_datatype, int target_rank, void *target_addr,
                               int target_count, MPI_Datatype target_datatype, MPI_Request *request,
                               MPI_Comm *communicator, const MPIX_RMA_Attributes *rma_attr_val);
MPIX_RMA_API int MPIX_RMA_xfer_c(MPIX_RMA_Op op, void *origin_addr, MPI_Count origin_count,
                                 MPI_Datatype origin_datatype, int target_rank, void *target_addr,
                                 MPI_Count target_count, MPI_Datatype target_datatype, MPI_Request *request,
                                 MPI_Comm *communicator, const MPIX_RMA_Attributes *rma_attr_val);

/**
 * MPIX_RMA_xfer without attributes on the call (5.3, second form): attributes come from the request object
 * and the communicator.
 *
 * @param op               as for MPIX_RMA_xfer
 * @param origin_addr      as for MPIX_RMA_xfer
 * @param origin_count     as for MPIX_RMA_xfer
 * @param origin_datatype  as for MPIX_RMA_xfer
 * @param target_rank      as for MPIX_RMA_xfer
 * @param target_addr      as for MPIX_RMA_xfer
 * @param target_count     as for MPIX_RMA_xfer
 * @param target_datatype  as for MPIX_RMA_xfer
 * @param request          as for MPIX_RMA_xfer; if the variable holds a request object of MPIX_Req_set_attr,
 *                         that object is used: its attributes are added to those of the communicator, and
 *                         for the operation and scale of an accumulate and for the counter the object takes
 *                         precedence. Null does not switch
 *                         off what the communicator has. Otherwise the variable's value does not matter
 * @param communicator     as for MPIX_RMA_xfer
 *
 * Local; otherwise as MPIX_RMA_xfer.
 *
 * @return as MPIX_RMA_xfer; MPI_ERR_REQUEST (a request object that is in use).
 */
MPIX_RMA_API int MPIX_RMA_xfer_req(MPIX_RMA_Op op, void *origin_addr, int origin_count,
                                   MPI_Datatype origin_datatype, int target_rank, void *target_addr,
                                   int target_count, MPI_Datatype target_datatype, MPI_Request *request,
                                   MPI_Comm *communicator);
MPIX_RMA_API int MPIX_RMA_xfer_req_c(MPIX_RMA_Op op, void *origin_addr, MPI_Count origin_count,
                                     MPI_Datatype origin_datatype, int target_rank, void *target_addr,
                                     MPI_Count target_count, MPI_Datatype target_datatype,
                                     MPI_Request *request, MPI_Comm *communicator);

#ifdef __cplusplus
}
#endif
#endif
