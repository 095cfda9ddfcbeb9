/// MPI's requests for operations of the engine: generalized requests, and for objects that are used again
/// persistent receives from the process itself.
#pragma once

#include <mpi.h>

#include "hosts/common/hosted.h"
#include "hosts/public-mpi/host.hpp"

namespace mpixrma::host {

/// Shows to MPI what the engine has completed. Returns how many. By any thread that may call MPI.
int show_completed();
/// The same, and waits for other threads that do it: the failures of requests that were freed are kept then.
/// Without a lock that keeping a failure takes.
int settle_completed();

// As in mpix_host_ops.
mpix_host_request_t* create_request(mpix_handle_t communicator, mpix_handle_t* handle);
void complete_request(mpix_host_request_t* request, size_t bytes, mpix_host_failure const* failure,
                      void* context);
void finish_request(mpix_host_request_t* request);
mpix_handle_t completed_request();
mpix_host_request_t* create_persistent_request(void (*freed)(mpix_handle_t handle), mpix_handle_t* handle);
void start_request(mpix_host_request_t* request, mpix_handle_t communicator);
int request_is_active(mpix_host_request_t* request);

/// The application frees this request, which may be any.
MPIX_HOST_API void request_freed(MPI_Request request);

}  // namespace mpixrma::host
