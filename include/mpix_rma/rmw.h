/** Read-modify-write operations (5.1, 5.3). Included by mpix_rma.h. */
#ifndef MPIX_RMA_RMW_H
#define MPIX_RMA_RMW_H

#ifndef MPIX_RMA_H
#error "include mpix_rma.h, of which this header is a part"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Operation types of MPIX_RMA_rmw (5.1). The last three are additions to the proposal. The operations of
 * MPIX_RMA_xfer, MPIX_RMA_rmw and MPIX_RMA_rmw2 have different values, so that each call rejects the
 * operations of the others with MPI_ERR_OP. INC, MIN and MAX are defined for integers and real numbers, PROD
 * and SUM for complex numbers too, LAND, LOR and LXOR for integers and logicals, BAND, BOR and BXOR for
 * integers and MPI_BYTE, SWAP and NO_OP for every predefined datatype, pairs such as MPI_2INT included.
 * Integers include MPI_CHAR, MPI_AINT, MPI_COUNT and MPI_OFFSET; those of more than 8 bytes have SWAP and
 * NO_OP only. Integers wrap. Real and complex numbers are compared by value: -0.0 equals 0.0, and NaN equals
 * nothing; all others by their bits. The result of MIN and MAX with NaN is undefined.
 */
typedef MPIX_RMA_ENUM_(MPIX_RMW_Op) {
    MPIX_RMW_INC = 101,   /**< target + 1 */
    MPIX_RMW_PROD = 102,  /**< target * operand */
    MPIX_RMW_SUM = 103,   /**< target + operand */
    MPIX_RMW_LAND = 104,  /**< target && operand */
    MPIX_RMW_LOR = 105,   /**< target || operand */
    MPIX_RMW_LXOR = 106,  /**< !target != !operand */
    MPIX_RMW_BAND = 107,  /**< target & operand */
    MPIX_RMW_BOR = 108,   /**< target | operand */
    MPIX_RMW_BXOR = 109,  /**< target ^ operand */
    MPIX_RMW_SWAP = 110,  /**< operand */
    MPIX_RMW_NO_OP = 111, /**< target, which is read only: an atomic read */
    MPIX_RMW_MIN = 112,   /**< the smaller of target and operand */
    MPIX_RMW_MAX = 113    /**< the larger of target and operand */
} MPIX_RMW_Op;

/**
 * Operation types of MPIX_RMA_rmw2 (5.1). MASK_SWAP is defined for integers, logicals and MPI_BYTE,
 * COMP_SWAP_E and COMP_SWAP_NE for every predefined datatype but pairs, the others for integers and real
 * numbers; integers of more than 8 bytes have none of them.
 */
typedef MPIX_RMA_ENUM_(MPIX_RMW2_Op) {
    MPIX_RMW2_MASK_SWAP = 201,    /**< bits that are set in operand are taken from operand2 */
    MPIX_RMW2_COMP_SWAP_LT = 202, /**< operand < target ? operand2 : target */
    MPIX_RMW2_COMP_SWAP_LE = 203, /**< operand <= target ? operand2 : target */
    MPIX_RMW2_COMP_SWAP_E = 204,  /**< operand == target ? operand2 : target */
    MPIX_RMW2_COMP_SWAP_GE = 205, /**< operand >= target ? operand2 : target */
    MPIX_RMW2_COMP_SWAP_GT = 206, /**< operand > target ? operand2 : target */
    MPIX_RMW2_COMP_SWAP_NE = 207  /**< operand != target ? operand2 : target */
} MPIX_RMW2_Op;

/**
 * Reads, modifies and writes elements at the target. Each element is updated atomically with respect to all
 * other such operations on it (5.1).
 *
 * @param op            new value of each target element: see MPIX_RMW_Op
 * @param operand_addr  `count` elements; ignored by MPIX_RMW_INC and MPIX_RMW_NO_OP. If the target is
 *                      this process, must not overlap the target elements
 * @param count         items of `datatype`, not negative; each item of its predefined datatype is an element,
 *                      which is atomic by itself, and all together with MPIX_RMA_ATTR_ATOMICITY
 * @param datatype      predefined, or derived from one predefined datatype, with lower bound 0, whose
 *                      elements (of pairs, with their padding) fill its extent in ascending order, as
 *                      MPI_Type_contiguous makes it
 * @param result_addr   receives the previous elements; NULL: they are not fetched. Must not overlap the
 *                      operands, nor, if the target is this process, the target elements. The padding of
 *                      MPI_LONG_DOUBLE in the result is undefined
 * @param target_rank   as for MPIX_RMA_xfer; with MPI_PROC_NULL the result does not change, and `op` and
 *                      `datatype` are also checked together
 * @param target_disp   address of the first element in the target process, as from MPI_Get_address there. A
 *                      multiple of the largest power of two that divides the element's data size, at most 8;
 *                      not checked if `count` is 0
 * @param request       as for MPIX_RMA_xfer
 * @param communicator  as for MPIX_RMA_xfer
 * @param rmw_attr_val  as for MPIX_RMA_xfer; the accumulate attributes are ignored
 *
 * Local and non-blocking as MPIX_RMA_xfer; complete when result_addr holds the result and operand_addr may
 * be reused. With a result it is then remotely complete, too: the effect is visible. From the call until
 * remote completion only rmws, ACCUMULATEs with ATOMICITY, accumulates of windows, ARMCI_Acc, ARMCI_Rmw
 * and, if this rmw has ATOMICITY, PUTs and GETs with ATOMICITY may access the target elements: no other PUT
 * or GET, no load, no store (5.2.1). Integers, logicals and bytes of at most 8 bytes are atomic with respect
 * to each other where they overlap; likewise the other types among themselves. That holds for rmws with
 * ATOMICITY and without.
 *
 * @return as MPIX_RMA_xfer; MPI_ERR_OP also for an operation that is not defined for the datatype;
 *         MPI_ERR_BUFFER also for a result that overlaps an operand; MPI_ERR_ARG also for a misaligned
 *         target; the address class also for an operand or result in the memory of a device.
 */
MPIX_RMA_API int MPIX_RMA_rmw(MPIX_RMW_Op op, const void *operand_addr, int count, MPI_Datatype datatype,
                              void *result_addr, int target_rank, MPI_Aint target_disp, MPI_Request *request,
                              MPI_Comm *communicator, const MPIX_RMA_Attributes *rmw_attr_val);
MPIX_RMA_API int MPIX_RMA_rmw_c(MPIX_RMW_Op op, const void *operand_addr, MPI_Count count,
                                MPI_Datatype datatype, void *result_addr, int target_rank,
                                MPI_Aint target_disp, MPI_Request *request, MPI_Comm *communicator,
                                const MPIX_RMA_Attributes *rmw_attr_val);

/**
 * MPIX_RMA_rmw without attributes on the call (5.3).
 *
 * @param op            as for MPIX_RMA_rmw
 * @param operand_addr  as for MPIX_RMA_rmw
 * @param count         as for MPIX_RMA_rmw
 * @param datatype      as for MPIX_RMA_rmw
 * @param result_addr   as for MPIX_RMA_rmw
 * @param target_rank   as for MPIX_RMA_rmw
 * @param target_disp   as for MPIX_RMA_rmw
 * @param request       as for MPIX_RMA_xfer_req
 * @param communicator  as for MPIX_RMA_rmw
 *
 * Local; otherwise as MPIX_RMA_rmw.
 *
 * @return as MPIX_RMA_rmw; MPI_ERR_REQUEST (an object that is in use).
 */
MPIX_RMA_API int MPIX_RMA_rmw_req(MPIX_RMW_Op op, const void *operand_addr, int count, MPI_Datatype datatype,
                                  void *result_addr, int target_rank, MPI_Aint target_disp,
                                  MPI_Request *request, MPI_Comm *communicator);
MPIX_RMA_API int MPIX_RMA_rmw_req_c(MPIX_RMW_Op op, const void *operand_addr, MPI_Count count,
                                    MPI_Datatype datatype, void *result_addr, int target_rank,
                                    MPI_Aint target_disp, MPI_Request *request, MPI_Comm *communicator);

/**
 * Read-modify-write with two operands (5.1).
 *
 * @param op             new value of each target element: see MPIX_RMW2_Op
 * @param operand_addr   `count` elements: the mask, or the values that the target is compared with
 * @param count          as for MPIX_RMA_rmw
 * @param datatype       as for MPIX_RMA_rmw
 * @param operand2_addr  `count` elements: the new values
 * @param result_addr    as for MPIX_RMA_rmw
 * @param target_rank    as for MPIX_RMA_rmw
 * @param target_disp    as for MPIX_RMA_rmw
 * @param request        as for MPIX_RMA_rmw
 * @param communicator   as for MPIX_RMA_rmw
 * @param rmw_attr_val   as for MPIX_RMA_rmw
 *
 * Local; otherwise as MPIX_RMA_rmw.
 *
 * @return as MPIX_RMA_rmw.
 */
MPIX_RMA_API int MPIX_RMA_rmw2(MPIX_RMW2_Op op, const void *operand_addr, int count, MPI_Datatype datatype,
                               const void *operand2_addr, void *result_addr, int target_rank,
                               MPI_Aint target_disp, MPI_Request *request, MPI_Comm *communicator,
                               const MPIX_RMA_Attributes *rmw_attr_val);
MPIX_RMA_API int MPIX_RMA_rmw2_c(MPIX_RMW2_Op op, const void *operand_addr, MPI_Count count,
                                 MPI_Datatype datatype, const void *operand2_addr, void *result_addr,
                                 int target_rank, MPI_Aint target_disp, MPI_Request *request,
                                 MPI_Comm *communicator, const MPIX_RMA_Attributes *rmw_attr_val);

/**
 * MPIX_RMA_rmw2 without attributes on the call (5.3).
 *
 * @param op             as for MPIX_RMA_rmw2
 * @param operand_addr   as for MPIX_RMA_rmw2
 * @param count          as for MPIX_RMA_rmw
 * @param datatype       as for MPIX_RMA_rmw
 * @param operand2_addr  as for MPIX_RMA_rmw2
 * @param result_addr    as for MPIX_RMA_rmw
 * @param target_rank    as for MPIX_RMA_rmw
 * @param target_disp    as for MPIX_RMA_rmw
 * @param request        as for MPIX_RMA_xfer_req
 * @param communicator   as for MPIX_RMA_rmw
 *
 * Local; otherwise as MPIX_RMA_rmw.
 *
 * @return as MPIX_RMA_rmw; MPI_ERR_REQUEST (an object that is in use).
 */
MPIX_RMA_API int MPIX_RMA_rmw2_req(MPIX_RMW2_Op op, const void *operand_addr, int count,
                                   MPI_Datatype datatype, const void *operand2_addr, void *result_addr,
                                   int target_rank, MPI_Aint target_disp, MPI_Request *request,
                                   MPI_Comm *communicator);
MPIX_RMA_API int MPIX_RMA_rmw2_req_c(MPIX_RMW2_Op op, const void *operand_addr, MPI_Count count,
                                     MPI_Datatype datatype, const void *operand2_addr, void *result_addr,
                                     int target_rank, MPI_Aint target_disp, MPI_Request *request,
                                     MPI_Comm *communicator);

#ifdef __cplusplus
}
#endif
#endif
