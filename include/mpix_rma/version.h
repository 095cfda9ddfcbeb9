/** Version of the library. Included by mpix_rma.h. */
#ifndef MPIX_RMA_VERSION_H
#define MPIX_RMA_VERSION_H

#ifndef MPIX_RMA_H
#error "include mpix_rma.h, of which this header is a part"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Returns the version of the interface that the library implements; MPIX_RMA_VERSION and MPIX_RMA_SUBVERSION
 * are those of the header. A library serves programs of every header with its own version and no later
 * subversion.
 *
 * @param version     receives the version
 * @param subversion  receives the subversion
 *
 * Local; also before MPI_Init and after MPI_Finalize.
 *
 * @return MPI_SUCCESS; MPI_ERR_ARG (null pointer; no handler is invoked).
 */
MPIX_RMA_API int MPIX_RMA_Get_version(int *version, int *subversion);

#ifdef __cplusplus
}
#endif
#endif
