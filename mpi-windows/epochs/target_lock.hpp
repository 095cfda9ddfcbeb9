/// Locks of targets.
#pragma once

#include "mpi-windows/epochs/queue.hpp"
#include "mpi-windows/state/queue.hpp"
#include "mpi-windows/state/window.hpp"

namespace mpixrma::windows {

/// Acquires the lock in the common case: the lock word is mapped and the lock is free.
bool try_lock(Window& window, Target& target, engine::LockMode mode, Lock held);
int take_lock_slow_path(Window& window, Target& target, engine::LockMode mode, engine::LockSend send);
/// Acquires the lock. Does not wait if the request travels in the message stream, where later operations
/// follow it; `send` is the time at which such a request is sent.
inline int take_lock(Window& window, Target& target, engine::LockMode mode, engine::LockSend send) {
  Lock const held = mode == engine::LockMode::exclusive ? Lock::exclusive : Lock::shared;
  window.engine.locks.finish_pending();
  return try_lock(window, target, mode, held) ? MPI_SUCCESS : take_lock_slow_path(window, target, mode, send);
}
/// Requests the lock. Sets `*awaited` if operations must wait for the grant; those that follow a request in
/// the message stream need not.
int request_lock(Window& window, Target& target, engine::LockMode mode, engine::LockSend send,
                 Awaited* awaited);
/// Waits until the target has received the request: a free lock has been granted by then. Returns whether the
/// lock has been granted or refused.
bool wait_for_answer(Window& window, Target& target, Awaited awaited);
/// Whether the requested lock has been granted, or refused.
bool lock_is_decided(Window& window, Target& target);
/// Records a lock that this process holds, or will hold before any lock that it requests later.
void note_granted(Window& window, Target& target, engine::LockRequest const& request);
/// Releases the lock behind the operations that were issued under it.
int release_lock(Window& window, Target& target);

}  // namespace mpixrma::windows
