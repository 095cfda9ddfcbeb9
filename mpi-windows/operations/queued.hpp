/// Operations on targets that may not be accessed yet.
#pragma once

#include <mpi.h>

#include "mpi-windows/state/window.hpp"

namespace mpixrma::windows {

/// The counter number of an operation that is not notified.
inline constexpr int no_notification = -1;

/// Queues an operation until the target is open, or issues it at once if the target is open. The context and
/// the completion of `operation` need not be set. Layouts are copied; the buffers belong to the operation
/// until it is complete. `notification` is as in issue_or_queue().
int queue_operation(Window& window, Target& target, engine::RmaOp const& operation, int notification,
                    MPI_Request* request);

}  // namespace mpixrma::windows
