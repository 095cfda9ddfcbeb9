/// Native MPI requests for operations that are not complete when the call returns.
#pragma once

#include <mpi.h>

#include "engine/operation.hpp"
#include "mpix/comm/communicator.hpp"

namespace mpix {

/// Completes a native request when the engine completes the operation. From a pool; gives itself back.
struct NativeCompletion : engine::Completion {
  void* request = nullptr;
  NativeCompletion* next = nullptr;
};

/// A new active native request on `communicator` and what completes it; nullptr without memory.
NativeCompletion* open_native(Communicator& communicator);
/// The same with an inactive persistent request, which becomes active.
NativeCompletion* open_native(Communicator& communicator, MPI_Request persistent);

/// Takes back a request of open_native whose operation was complete at once, or refused.
void drop_native(NativeCompletion* completion);
/// The same for a persistent one: it is complete with this error class.
void finish_native(NativeCompletion* completion, int code);

/// The handle that is complete from the start.
MPI_Request completed_request();

}  // namespace mpix
