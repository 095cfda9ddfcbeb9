/// Locks of targets whose memory is at a memory server.
#pragma once

#include "mpi-windows/state/window.hpp"

namespace mpixrma::windows {

/// Prepares the attempts to acquire the lock of the target in the mode of `target.queue->request`.
void request_nam_lock(Window& window, Target& target);
/// Tries to acquire the lock. Returns whether the lock was acquired or refused.
bool try_nam_lock(Window& window, Target& target);
void release_nam_lock(Window& window, Target& target) noexcept;

}  // namespace mpixrma::windows
