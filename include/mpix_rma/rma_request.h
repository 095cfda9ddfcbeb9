/** The library's own request type, of the third prototype form (5.3). Included by mpix_rma.h. */
#ifndef MPIX_RMA_RMA_REQUEST_H
#define MPIX_RMA_RMA_REQUEST_H

#ifndef MPIX_RMA_H
#error "include mpix_rma.h, of which this header is a part"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** The request type of the third prototype form. A variable of this type must be initialised before its first
 * use.
 */
typedef struct MPIX_Rma_request_s *MPIX_Rma_request;
/** The name that the rmw prototypes use. */
typedef MPIX_Rma_request MPIX_Rmw_request;
#define MPIX_RMA_REQUEST_NULL MPIX_RMA_CAST_(MPIX_Rma_request, 0)

/**
 * MPIX_RMA_xfer with the library's own request type (5.3, third form).
 *
 * @param op               as for MPIX_RMA_xfer
 * @param origin_addr      as for MPIX_RMA_xfer
 * @param origin_count     as for MPIX_RMA_xfer
 * @param origin_datatype  as for MPIX_RMA_xfer
 * @param target_rank      as for MPIX_RMA_xfer
 * @param target_addr      as for MPIX_RMA_xfer
 * @param target_count     as for MPIX_RMA_xfer
 * @param target_datatype  as for MPIX_RMA_xfer
 * @param request          NULL: completed by MPIX_RMA_Complete. Otherwise MPIX_RMA_REQUEST_NULL, which is
 *                         replaced by a new request, or an inactive object, whose attributes are merged
 * @param communicator     as for MPIX_RMA_xfer
 *
 * Local; otherwise as MPIX_RMA_xfer. MPIX_Rma_request_wait and similar calls complete the request.
 *
 * @return as MPIX_RMA_xfer; MPI_ERR_REQUEST (a request that is in use, or freed).
 */
MPIX_RMA_API int MPIX_RMA_xfer_rma(MPIX_RMA_Op op, void *origin_addr, int origin_count,
                                   MPI_Datatype origin_datatype, int target_rank, void *target_addr,
                                   int target_count, MPI_Datatype target_datatype, MPIX_Rma_request *request,
                                   MPI_Comm *communicator);
MPIX_RMA_API int MPIX_RMA_xfer_rma_c(MPIX_RMA_Op op, void *origin_addr, MPI_Count origin_count,
                                     MPI_Datatype origin_datatype, int target_rank, void *target_addr,
                                     MPI_Count target_count, MPI_Datatype target_datatype,
                                     MPIX_Rma_request *request, MPI_Comm *communicator);

/**
 * MPIX_RMA_rmw with the library's own request type, as in the proposal's prototype (5.3).
 *
 * @param op            as for MPIX_RMA_rmw
 * @param operand_addr  as for MPIX_RMA_rmw
 * @param count         as for MPIX_RMA_rmw
 * @param datatype      as for MPIX_RMA_rmw
 * @param result_addr   as for MPIX_RMA_rmw
 * @param target_rank   as for MPIX_RMA_rmw
 * @param target_disp   as for MPIX_RMA_rmw
 * @param request       as for MPIX_RMA_xfer_rma
 * @param communicator  as for MPIX_RMA_rmw
 * @param rmw_attr_val  as for MPIX_RMA_rmw; values on the call take precedence over those of the object
 *
 * Local; otherwise as MPIX_RMA_rmw.
 *
 * @return as MPIX_RMA_rmw; MPI_ERR_REQUEST (a request that is in use, or freed).
 */
MPIX_RMA_API int MPIX_RMA_rmw_rma(MPIX_RMW_Op op, const void *operand_addr, int count, MPI_Datatype datatype,
                                  void *result_addr, int target_rank, MPI_Aint target_disp,
                                  MPIX_Rmw_request *request, MPI_Comm *communicator,
                                  const MPIX_RMA_Attributes *rmw_attr_val);
MPIX_RMA_API int MPIX_RMA_rmw_rma_c(MPIX_RMW_Op op, const void *operand_addr, MPI_Count count,
                                    MPI_Datatype datatype, void *result_addr, int target_rank,
                                    MPI_Aint target_disp, MPIX_Rmw_request *request, MPI_Comm *communicator,
                                    const MPIX_RMA_Attributes *rmw_attr_val);

/**
 * MPIX_RMA_rmw2 with the library's own request type, as in the proposal's prototype (5.3).
 *
 * @param op             as for MPIX_RMA_rmw2
 * @param operand_addr   as for MPIX_RMA_rmw2
 * @param count          as for MPIX_RMA_rmw
 * @param datatype       as for MPIX_RMA_rmw
 * @param operand2_addr  as for MPIX_RMA_rmw2
 * @param result_addr    as for MPIX_RMA_rmw
 * @param target_rank    as for MPIX_RMA_rmw
 * @param target_disp    as for MPIX_RMA_rmw
 * @param request        as for MPIX_RMA_xfer_rma
 * @param communicator   as for MPIX_RMA_rmw
 * @param rmw_attr_val   as for MPIX_RMA_rmw; values on the call take precedence over those of the object
 *
 * Local; otherwise as MPIX_RMA_rmw.
 *
 * @return as MPIX_RMA_rmw; MPI_ERR_REQUEST (a request that is in use, or freed).
 */
MPIX_RMA_API int MPIX_RMA_rmw2_rma(MPIX_RMW2_Op op, const void *operand_addr, int count,
                                   MPI_Datatype datatype, const void *operand2_addr, void *result_addr,
                                   int target_rank, MPI_Aint target_disp, MPIX_Rmw_request *request,
                                   MPI_Comm *communicator, const MPIX_RMA_Attributes *rmw_attr_val);
MPIX_RMA_API int MPIX_RMA_rmw2_rma_c(MPIX_RMW2_Op op, const void *operand_addr, MPI_Count count,
                                     MPI_Datatype datatype, const void *operand2_addr, void *result_addr,
                                     int target_rank, MPI_Aint target_disp, MPIX_Rmw_request *request,
                                     MPI_Comm *communicator, const MPIX_RMA_Attributes *rmw_attr_val);

/**
 * MPIX_Req_set_attr for the library's own request type (5.3, third form).
 *
 * @param request        MPIX_RMA_REQUEST_NULL: a new inactive object is created; or an object that is not in
 *                       use
 * @param comm_keyval    an attribute key
 * @param attribute_val  as for MPI_Comm_set_attr with that key
 *
 * Local. The object survives MPIX_Rma_request_wait and similar calls, even if the operation has failed;
 * MPIX_Rma_request_free frees it.
 *
 * @return as MPIX_Req_set_attr.
 */
MPIX_RMA_API int MPIX_Rma_request_set_attr(MPIX_Rma_request *request, int comm_keyval, void *attribute_val);

/**
 * MPIX_Req_get_attr for the library's own request type (5.3, third form).
 *
 * @param request        address of the request
 * @param comm_keyval    an attribute key
 * @param attribute_val  address of a void*, which receives the value as it was given
 * @param flag           receives 1 when the attribute is set, else 0
 *
 * Local.
 *
 * @return as MPIX_Req_get_attr; MPI_ERR_REQUEST also for a handle that is not a request.
 */
MPIX_RMA_API int MPIX_Rma_request_get_attr(MPIX_Rma_request *request, int comm_keyval, void *attribute_val,
                                           int *flag);

/**
 * Waits until the operation of a request is complete (5.3).
 *
 * @param request  a request; MPIX_RMA_REQUEST_NULL and inactive objects count as complete
 *
 * Local; drives progress. A request that an operation has created is freed and the handle set to
 * MPIX_RMA_REQUEST_NULL; an object of MPIX_Rma_request_set_attr becomes inactive.
 *
 * @return MPI_SUCCESS; MPI_ERR_REQUEST; the error of the operation, through its communicator's handler (none
 *         if the communicator has been freed) and with the operation's name in its string.
 */
MPIX_RMA_API int MPIX_Rma_request_wait(MPIX_Rma_request *request);

/**
 * Tests whether the operation of a request is complete; if so, acts as MPIX_Rma_request_wait (5.3).
 *
 * @param request  a request; MPIX_RMA_REQUEST_NULL and inactive objects count as complete
 * @param flag     receives 1 when complete, else 0
 *
 * Local; drives progress once.
 *
 * @return as MPIX_Rma_request_wait; MPI_ERR_ARG (null flag).
 */
MPIX_RMA_API int MPIX_Rma_request_test(MPIX_Rma_request *request, int *flag);

/**
 * Waits for every request of an array, as MPIX_Rma_request_wait for each (5.3).
 *
 * @param count     number of requests, not negative
 * @param requests  array of `count` requests; a request may occur more than once
 *
 * Local; drives progress. Waits for all requests even if one has failed; every failure invokes the error
 * handler of its communicator.
 *
 * @return MPI_SUCCESS; MPI_ERR_COUNT; MPI_ERR_REQUEST (without waiting); the error of the failed operation
 *         that is the first one in the array.
 */
MPIX_RMA_API int MPIX_Rma_request_waitall(int count, MPIX_Rma_request requests[]);

/**
 * Tests whether all requests of an array are complete; if so, acts as MPIX_Rma_request_waitall, else changes
 * no request (5.3).
 *
 * @param count     number of requests, not negative
 * @param requests  array of `count` requests, as for MPIX_Rma_request_waitall
 * @param flag      receives 1 when all are complete, else 0
 *
 * Local; drives progress once.
 *
 * @return as MPIX_Rma_request_waitall; MPI_ERR_ARG (null flag).
 */
MPIX_RMA_API int MPIX_Rma_request_testall(int count, MPIX_Rma_request requests[], int *flag);

/**
 * Waits until one of the active requests of an array is complete, then acts as MPIX_Rma_request_wait for it
 * (5.3).
 *
 * @param count     number of requests, not negative
 * @param requests  array of `count` requests; if a request that is no object occurs more than once, the
 *                  other elements that hold the completed request are invalid afterwards
 * @param index     receives the index of that request, or MPI_UNDEFINED if no request of the array is active
 *
 * Local; drives progress.
 *
 * @return MPI_SUCCESS; MPI_ERR_COUNT; MPI_ERR_REQUEST; MPI_ERR_ARG (null index); the error of that operation.
 */
MPIX_RMA_API int MPIX_Rma_request_waitany(int count, MPIX_Rma_request requests[], int *index);

/**
 * Frees a request object and sets the handle to MPIX_RMA_REQUEST_NULL (5.3).
 *
 * @param request  a request; the operation of an active request continues, and MPIX_RMA_Complete completes it
 *
 * Local.
 *
 * @return MPI_SUCCESS; MPI_ERR_REQUEST (also for MPIX_RMA_REQUEST_NULL).
 */
MPIX_RMA_API int MPIX_Rma_request_free(MPIX_Rma_request *request);

#ifdef __cplusplus
}
#endif
#endif
