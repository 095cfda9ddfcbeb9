/// Requests of operations: MPI requests, which the MPI host creates.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/op/aggregate_completion.hpp"
#include "engine/op/operation.hpp"
#include "hosts/common/hosted.h"
#include "mpi-windows/state/error.hpp"

namespace mpixrma::windows {

class Window;

struct RequestCompletion : engine::Completion {
  mpix_host_request_t* request = nullptr;
  MPI_Request handle = MPI_REQUEST_NULL;  ///< of `request`
  std::uint32_t context = 0;              ///< of the window, which reports the failure of a freed request
  engine::Status status = engine::Status::ok;
  int error = MPI_SUCCESS;         ///< error code of the failure, if `status` does not give it
  ReportedTarget subject;          ///< describes the operation in error texts
  Window const* window = nullptr;  ///< window of an aggregate request
  engine::AggregateCompletion::FirstFailure first;  ///< first failed operation of an aggregate request
  RequestCompletion* next = nullptr;
};

/// Opens a request of an operation on the MPI host's window `window`, with the window's context at the
/// engine. Returns nullptr if there is no memory.
RequestCompletion* open_request(void* window, std::uint32_t context);
/// Opens a request that is complete when the last of several operations is, and returns its completion, to
/// which operations are added. Window::aggregate_requests counts the incomplete requests. An operation whose
/// failure the engine reports as a LateError needs its Target as AggregatedTarget::object. Returns nullptr if
/// there is no memory.
engine::AggregateCompletion* open_aggregate_request(Window& window, MPI_Request* request);

/// Returns a request of an operation that was complete when its call returned.
MPI_Request completed_request();
/// Completes a request that was opened for an operation that was complete when its call returned.
MPI_Request finish_request(RequestCompletion* completion);
/// Drops a request that was opened for an operation that was not issued.
void drop_request(RequestCompletion* completion);

}  // namespace mpixrma::windows
