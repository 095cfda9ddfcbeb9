/// Operations on memory of a target that is divided between several processes.
#pragma once

#include <mpi.h>

#include "mpi-windows/state/window.hpp"

namespace mpixrma::windows {

/// An operation that lies within the target's memory, complete but for its context and its completion, with
/// the offset in that memory in `operation.target`. Error class: MPI_ERR_DISP: elements lie across the border
/// of two stripes, nothing is done; MPI_ERR_WIN: the target has no memory that can be reached.
int issue_divided(Window& window, Target& target, engine::Transfer& operation, MPI_Request* request);
int issue_divided(Window& window, Target& target, engine::Update& operation, MPI_Request* request);

}  // namespace mpixrma::windows
