/** Request objects: attributes on native requests, and the library's own request type (5.3). Included by
 * mpix_rma.h. */
#ifndef MPIX_RMA_REQUEST_H
#define MPIX_RMA_REQUEST_H

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
 * Sets an attribute on a native request object (5.3).
 *
 * @param request        MPI_REQUEST_NULL: a new inactive request object is created; or a request object of
 *                       this call that is not in use
 * @param comm_keyval    an attribute key, such as MPIX_RMA_KEY_ATOMICITY
 * @param attribute_val  as for MPI_Comm_set_attr with that key
 *
 * Local. Operations that the object is passed to have its attributes in addition to their own. Like a
 * persistent request the object is inactive, not null, after MPI_Wait and similar calls, and can be passed to
 * the next operation; MPI_Start does not start it (MPI_ERR_REQUEST). MPI_Request_free frees it. If the
 * operation fails, the call that reports the error sets the handle to MPI_REQUEST_NULL, and the object with
 * its attributes is freed, because Open MPI frees failed requests. An object of the library's own type
 * survives, see MPIX_Rma_request_set_attr.
 *
 * @return MPI_SUCCESS; MPI_ERR_REQUEST (null pointer, in use, or not a request object of this call);
 *         MPI_ERR_KEYVAL (not an attribute key); MPI_ERR_ARG (not a value of that attribute: see the keys);
 *         MPI_ERR_NO_MEM.
 */
MPIX_RMA_API int MPIX_Req_set_attr(MPI_Request *request, int comm_keyval, void *attribute_val);

/**
 * Returns an attribute that MPIX_Req_set_attr has set (5.3).
 *
 * @param request        address of the request; MPI_REQUEST_NULL and other requests have no attributes
 * @param comm_keyval    an attribute key
 * @param attribute_val  address of a void*, which receives the value as it was given
 * @param flag           receives 1 when the attribute is set, else 0
 *
 * Local.
 *
 * @return MPI_SUCCESS; MPI_ERR_REQUEST (null pointer); MPI_ERR_KEYVAL; MPI_ERR_ARG (null result address).
 */
MPIX_RMA_API int MPIX_Req_get_attr(MPI_Request *request, int comm_keyval, void *attribute_val, int *flag);

/**
 * MPIX_Req_set_attr for the library's own request type (5.3, third form).
 *
 * @param request        MPIX_RMA_REQUEST_NULL: a new inactive object is created; or an object that is not in
 *                       use
 * @param comm_keyval    an attribute key
 * @param attribute_val  as for MPI_Comm_set_attr with that key
 *
 * Local. The object survives MPIX_Rma_request_wait and similar calls, even if the operation has failed; MPIX_Rma_request_free
 * frees it.
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
 * @param request  a request; null and inactive ones are complete
 *
 * Local; drives progress. An object without attributes is freed and the handle set to
 * MPIX_RMA_REQUEST_NULL; one with attributes becomes inactive.
 *
 * @return MPI_SUCCESS; MPI_ERR_REQUEST; the error of the operation, through its communicator's handler and
 *         with the operation's name in its string.
 */
MPIX_RMA_API int MPIX_Rma_request_wait(MPIX_Rma_request *request);

/**
 * Tests whether the operation of a request is complete; if so, acts as MPIX_Rma_request_wait (5.3).
 *
 * @param request  a request; null and inactive ones are complete
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
 * @param requests  array of `count` requests
 *
 * Local; drives progress. Waits for all requests even if one has failed.
 *
 * @return MPI_SUCCESS; MPI_ERR_COUNT; MPI_ERR_REQUEST (without waiting); the first error of an operation.
 */
MPIX_RMA_API int MPIX_Rma_request_waitall(int count, MPIX_Rma_request requests[]);

/**
 * Tests whether all requests of an array are complete; if so, acts as MPIX_Rma_request_waitall, else changes no
 * request (5.3).
 *
 * @param count     number of requests, not negative
 * @param requests  array of `count` requests
 * @param flag      receives 1 when all are complete, else 0
 *
 * Local; drives progress once.
 *
 * @return as MPIX_Rma_request_waitall; MPI_ERR_ARG (null flag).
 */
MPIX_RMA_API int MPIX_Rma_request_testall(int count, MPIX_Rma_request requests[], int *flag);

/**
 * Waits until one of the active requests of an array is complete, then acts as MPIX_Rma_request_wait for it (5.3).
 *
 * @param count     number of requests, not negative
 * @param requests  array of `count` requests
 * @param index     receives its index, or MPI_UNDEFINED if no request of the array is active
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
 * @return MPI_SUCCESS; MPI_ERR_REQUEST.
 */
MPIX_RMA_API int MPIX_Rma_request_free(MPIX_Rma_request *request);

#ifdef __cplusplus
}
#endif
#endif
