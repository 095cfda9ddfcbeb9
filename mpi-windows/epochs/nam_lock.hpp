/// Locks of targets whose memory is at a memory server.
#pragma once

#include "mpi-windows/state/window.hpp"

namespace mpixrma::windows {

/// Begins attempts to take the lock that the target's queue requests.
void request_nam_lock(Window& window, Target& target);
/// Tries to take the lock. Returns whether it was taken or cannot be had.
bool has_nam_lock(Window& window, Target& target);
void release_nam_lock(Window& window, Target& target) noexcept;

}  // namespace mpixrma::windows
