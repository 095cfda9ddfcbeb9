/// Locks of targets.
#pragma once

#include "mpi-windows/epochs/queue.hpp"
#include "mpi-windows/state/queue.hpp"
#include "mpi-windows/state/window.hpp"

namespace mpixrma::windows {

/// The common case: the lock word is mapped and the lock is free.
bool try_lock(Window& window, Target& target, engine::LockMode mode, Lock held);
int wait_for_lock(Window& window, Target& target, engine::LockMode mode, engine::LockSend send);
/// Returns with the lock. `send`: of a request between hosts, if it is in the stream.
inline int take_lock(Window& window, Target& target, engine::LockMode mode, engine::LockSend send) {
  Lock const held = mode == engine::LockMode::exclusive ? Lock::exclusive : Lock::shared;
  window.engine.locks.finish_pending();
  return try_lock(window, target, mode, held) ? MPI_SUCCESS : wait_for_lock(window, target, mode, send);
}
/// Sets `*awaited` if the lock is not there when the call returns.
int request_lock(Window& window, Target& target, engine::LockMode mode, engine::LockSend send,
                 Awaited* awaited);
/// Waits until the target has queued the request: a lock that is free is there then. Returns whether the lock
/// has been granted or refused.
bool wait_for_answer(Window& window, Target& target, Awaited awaited);
/// Whether the requested lock has been granted, or refused.
bool lock_is_decided(Window& window, Target& target);
/// Records a lock that this process holds, or will hold before others that it requests later.
void note_granted(Window& window, Target& target, engine::LockRequest const& request);
/// Releases the lock behind the operations that were issued under it.
int release_lock(Window& window, Target& target);

}  // namespace mpixrma::windows
