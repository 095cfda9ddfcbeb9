/// MPI requests for operations of the engine: generalized requests, or, if persistent,
/// persistent receives from the process itself.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "hosts/common/hosted.h"
#include "hosts/public-mpi/host.hpp"

namespace mpixrma::host {

/// Passes the engine's completions to MPI. Returns their number. Any thread that may call MPI may call it.
int drain_completed();
/// As drain_completed(), and waits for other threads that are inside of that function: then the failures
/// of freed requests are recorded. The caller must not hold a lock that recording a failure takes.
int deliver_completions();

// As in mpix_host_ops.
mpix_host_request_t* create_request(mpix_handle_t communicator, mpix_handle_t* handle);
void complete_request(mpix_host_request_t* request, mpix_host_failure const* failure, void* context);
void finish_request(mpix_host_request_t* request);
void call_when_freed(mpix_host_request_t* request, void (*freed)(std::uint64_t argument),
                     std::uint64_t argument);
mpix_handle_t completed_request();
mpix_host_request_t* create_persistent_request(void (*freed)(mpix_handle_t handle), mpix_handle_t* handle);
void start_request(mpix_host_request_t* request, mpix_handle_t communicator);
int request_is_active(mpix_host_request_t* request);

/// Whether a persistent request has ever existed.
bool objects_have_existed() noexcept;
/// Returns the error code of a persistent request that MPI has completed, once; MPI_SUCCESS if it has not
/// failed, and for other requests.
int take_object_failure(MPI_Request request);

/// The application frees `request`, which may be any MPI request.
MPIX_HOST_API void request_freed(MPI_Request request);

/// While an object exists, MPI functions that this thread calls take no failure of a request: it is left to
/// the call that completes the request or, if it is freed, to the next completion.
class MPIX_HOST_API LeavingFailures {
 public:
  LeavingFailures() noexcept;
  LeavingFailures(LeavingFailures const&) = delete;
  LeavingFailures& operator=(LeavingFailures const&) = delete;
  ~LeavingFailures();

 private:
  bool outer_;
};

}  // namespace mpixrma::host
