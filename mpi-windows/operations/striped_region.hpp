/// Operations on a striped region: memory of a target whose chunks several processes have.
#pragma once

#include <mpi.h>

#include "mpi-windows/state/window.hpp"

namespace mpixrma::windows {

/// Issues an operation that lies within the target's memory and is complete but for its context and its
/// completion; `operation.target` is the offset in that memory. Error class: MPI_ERR_DISP if an element
/// crosses a chunk boundary, and then nothing is done; MPI_ERR_WIN if the target has no memory that
/// can be reached.
int issue_striped(Window& window, Target& target, engine::RmaOp const& operation, MPI_Request* request);

}  // namespace mpixrma::windows
