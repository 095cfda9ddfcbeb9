/// Operations on a striped region: memory of a target in chunks that belong to several processes.
#pragma once

#include <mpi.h>

#include "mpi-windows/state/window.hpp"

namespace mpixrma::windows {

/// Issues an operation on a target without a peer: a striped region, or memory that is accessed by requests.
/// The operation's memory lies within the target's; `operation.target` is the offset there. The context and
/// the completion of `operation` need not be set. Error class: MPI_ERR_DISP if an element crosses a chunk
/// boundary, and then nothing is done; MPI_ERR_WIN if the target has no memory that can be reached.
int issue_without_peer(Window& window, Target& target, engine::RmaOp const& operation, MPI_Request* request);
/// Likewise, and waits until the operation is complete at all servers. Returns its failure.
int execute_without_peer(Window& window, Target& target, engine::RmaOp operation);

}  // namespace mpixrma::windows
