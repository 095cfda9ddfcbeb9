/// Operations on memory of a target that is divided between several processes.
#pragma once

#include <mpi.h>

#include "mpi-windows/state/window.hpp"

namespace mpixrma::windows {

/// Issues an operation that lies within the target's memory and is complete but for its context and its
/// completion; `operation.target` is the offset in that memory. Error class: MPI_ERR_DISP if elements lie
/// across the border of two chunks, and then nothing is done; MPI_ERR_WIN if the target has no memory that
/// can be reached.
int issue_divided(Window& window, Target& target, engine::RmaOp const& operation, MPI_Request* request);

}  // namespace mpixrma::windows
