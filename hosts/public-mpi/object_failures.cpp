#include "hosts/public-mpi/object_failures.hpp"

#include "hosts/public-mpi/requests.hpp"

namespace mpixrma::host {

namespace {

/// Whether a call that has failed has left the request incomplete. `status`: of the request, or nullptr if the
/// caller ignores statuses.
bool is_pending(MPI_Request request, MPI_Status const* status) noexcept {
  if (status != nullptr) return status->MPI_ERROR == MPI_ERR_PENDING;
  int complete = 1;
  if (request != MPI_REQUEST_NULL) PMPI_Request_get_status(request, &complete, MPI_STATUS_IGNORE);
  return complete == 0;
}

int invoke_handler(int code) {
  PMPI_Comm_call_errhandler(MPI_COMM_WORLD, code);
  return code;
}

}  // namespace

int report_failure_of(MPI_Request request) {
  if (!objects_have_existed()) return MPI_SUCCESS;
  int const failure = take_object_failure(request);
  return failure != MPI_SUCCESS ? invoke_handler(failure) : MPI_SUCCESS;
}

int report_failures_of(CompletedRequests const& completed, int code) {
  if (completed.count <= 0 || !objects_have_existed()) return code;
  bool const has_errors = code != MPI_SUCCESS;  // then MPI has set the errors of all statuses
  bool const has_statuses = completed.statuses != MPI_STATUSES_IGNORE;
  bool failed = false;
  for (int i = 0; i < completed.count; ++i) {
    MPI_Request const request = completed.requests[completed.indices != nullptr ? completed.indices[i] : i];
    if (has_errors && is_pending(request, has_statuses ? &completed.statuses[i] : nullptr)) continue;
    int const failure = take_object_failure(request);
    if (failure == MPI_SUCCESS) continue;
    if (!failed && !has_errors && has_statuses) {
      for (int other = 0; other < completed.count; ++other) completed.statuses[other].MPI_ERROR = MPI_SUCCESS;
    }
    failed = true;
    if (has_statuses) completed.statuses[i].MPI_ERROR = failure;
  }
  return failed && !has_errors ? invoke_handler(MPI_ERR_IN_STATUS) : code;
}

}  // namespace mpixrma::host
