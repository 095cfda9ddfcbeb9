/// Requests of operations: MPI's own, as the host makes them.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "engine/op/operation.hpp"
#include "hosts/common/hosted.h"
#include "mpi-windows/state/error.hpp"

namespace mpixrma::windows {

struct RequestCompletion : engine::Completion {
  mpix_host_request_t* request = nullptr;
  MPI_Request handle = MPI_REQUEST_NULL;  ///< of `request`
  std::uint32_t context = 0;              ///< of the window, which tells a failure that nobody waits for
  engine::Status status = engine::Status::ok;
  Subject subject;  ///< names the operation when it fails
  RequestCompletion* next = nullptr;
};

/// For an operation on the host's window `window`, with the mark that the window has at the engine. nullptr:
/// there is no memory.
RequestCompletion* open_request(void* window, std::uint32_t context);

/// Of an operation that was complete when its call returned.
MPI_Request completed_request();
/// Completes the request of such an operation for which one was opened.
MPI_Request finish_request(RequestCompletion* completion);
/// Of an operation that was not issued.
void drop_request(RequestCompletion* completion);

}  // namespace mpixrma::windows
