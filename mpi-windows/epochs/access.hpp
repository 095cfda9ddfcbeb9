/// Start and end of the access to targets in an epoch.
#pragma once

#include "mpi-windows/epochs/completion.hpp"
#include "mpi-windows/state/window.hpp"

namespace mpixrma::windows {

/// Opens the target at the first operation of an epoch. If the target's post or lock has not arrived, the
/// target is queued: operations must be enqueued. Local. Returns an error class or code.
int open_target(Window& window, int rank, Target** target);
/// Ends the access epoch: completes its operations at the targets, or only at the origin.
int complete_opened(Window& window, Level level = Level::remote);

}  // namespace mpixrma::windows
