/** Request objects: attributes on native requests (5.3). Included by mpix_rma.h. */
#ifndef MPIX_RMA_REQUEST_H
#define MPIX_RMA_REQUEST_H

#ifndef MPIX_RMA_H
#error "include mpix_rma.h, of which this header is a part"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Sets an attribute on a native request object (5.3).
 *
 * @param request        MPI_REQUEST_NULL: a new inactive request object is created; or a request object of
 *                       this call that is not in use
 * @param comm_keyval    an attribute key, such as MPIX_RMA_KEY_ATOMICITY
 * @param attribute_val  as for MPI_Comm_set_attr with that key
 *
 * Local. MPIX_RMA_xfer_req, MPIX_RMA_rmw_req, MPIX_RMA_rmw2_req and their forms _c use the object: their
 * operations have its attributes in addition to those of the communicator. Other calls do not read the
 * variable: they overwrite it with a new request, and the object is lost. Like a persistent request the
 * object is inactive, not null, after MPI_Wait and similar calls, and can be passed to the next operation.
 * MPI_Request_free frees it. If MPI_Wait or a similar call reports the failure of the operation, then with
 * Open MPI's component it sets the handle to MPI_REQUEST_NULL and the object is freed, because Open MPI frees
 * failed requests; with MPICH and with MPIX_HOST=public the object stays, inactive, as it does everywhere if
 * the call that issues the operation reports the failure.
 *
 * A program must not pass the object to MPI_Start or MPI_Startall. With Open MPI's component MPI_Start
 * refuses it (MPI_ERR_REQUEST), and MPI_Startall ignores it while it is inactive. With MPICH, and with
 * MPIX_HOST=public, both start it, and it never completes.
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
 * @param flag           receives 1 when the attribute is set, even to null, else 0
 *
 * Local.
 *
 * @return MPI_SUCCESS; MPI_ERR_REQUEST (null pointer); MPI_ERR_KEYVAL; MPI_ERR_ARG (null result address).
 */
MPIX_RMA_API int MPIX_Req_get_attr(MPI_Request *request, int comm_keyval, void *attribute_val, int *flag);

#ifdef __cplusplus
}
#endif
#endif
