/// Native MPI requests for operations that are not complete when the call returns.
#pragma once

#include <mpi.h>

#include "engine/operation.hpp"
#include "mpix/comm/communicator.hpp"

namespace mpix {

/// Completes a native request when the engine completes the operation. From a pool; gives itself back.
struct RequestCompletion : engine::Completion {
  void* request = nullptr;
  RequestCompletion* next = nullptr;
};

/// A new active native request on `communicator` and what completes it; nullptr without memory.
RequestCompletion* open_request(Communicator& communicator);
/// Drops a request whose operation was complete at once, or refused.
void drop_request(RequestCompletion* completion);

/// The handle that is complete from the start.
MPI_Request completed_request();

}  // namespace mpix
