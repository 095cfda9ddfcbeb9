/// Failures of request objects. An object is a persistent receive in MPI, which succeeds whatever has become
/// of the operation, so the calls that complete requests learn here which objects have failed, report the
/// failures, and leave the objects inactive.
#pragma once

#include <mpi.h>

#include "hosts/public-mpi/host.hpp"

namespace mpixrma::host {

/// Returns the error code of `request`, which MPI has completed with success, if it is a failed object; else
/// MPI_SUCCESS. Invokes the error handler of MPI_COMM_WORLD with the code.
MPIX_HOST_API int report_failure_of(MPI_Request request);

/// The requests that a call for several has completed.
struct CompletedRequests {
  int count;                    ///< number of completed requests; MPI_UNDEFINED: none
  int const* indices;           ///< of these in `requests`; nullptr: all
  MPI_Request const* requests;  ///< after the call, which leaves objects as they are
  MPI_Status* statuses;         ///< in the order of `indices`; or MPI_STATUSES_IGNORE
};

/// Whether `code` is that of a call that has completed requests.
inline bool completes(int code) {
  int error_class = code;
  if (code != MPI_SUCCESS) PMPI_Error_class(code, &error_class);
  return error_class == MPI_SUCCESS || error_class == MPI_ERR_IN_STATUS;
}

/// Returns the result of a call that has completed requests with `code`: with a failed object
/// MPI_ERR_IN_STATUS, and its code in its status. Invokes the error handler of MPI_COMM_WORLD, unless MPI
/// has.
MPIX_HOST_API int report_failures_of(CompletedRequests const& completed, int code);

}  // namespace mpixrma::host
