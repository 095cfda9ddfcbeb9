/// Locks of targets.
#pragma once

#include "mpi-windows/epochs/queue.hpp"
#include "mpi-windows/state/failure.hpp"
#include "mpi-windows/state/queue.hpp"
#include "mpi-windows/state/window.hpp"

namespace mpixrma::windows {

/// Acquires the lock in the common case: the lock word is mapped and the lock is free.
inline bool try_lock(Window& window, Target& target, engine::LockMode mode, Lock held) noexcept {
  if (target.lock_word == nullptr || target.process->is_unreachable_by_messages()) return false;
  if (target.lock_word->try_lock(window.own_lock.holder, mode).outcome != engine::SharedLock::Outcome::done)
    return false;
  target.lock = held;
  return true;
}
int take_lock_slow_path(Window& window, Target& target, engine::LockMode mode);
/// Acquires the lock. Does not wait if the request travels in the message stream, where later operations
/// follow it.
inline int take_lock(Window& window, Target& target, engine::LockMode mode) {
  Lock const held = mode == engine::LockMode::exclusive ? Lock::exclusive : Lock::shared;
  window.engine.locks.finish_pending();
  return try_lock(window, target, mode, held) ? MPI_SUCCESS : take_lock_slow_path(window, target, mode);
}
/// The way of a lock request. In the message stream, all later messages to the target wait there for the
/// lock, also those of other windows: only for calls that may wait for the lock.
enum class LockWay : std::uint8_t { alone, in_stream };
/// Requests the lock. Sets `*awaited` if operations must wait for the grant; those that follow a request in
/// the message stream need not.
int request_lock(Window& window, Target& target, engine::LockMode mode, LockWay way, Awaited* awaited);
/// Waits until the target has received the request: a free lock has been granted by then. Returns whether the
/// lock has been granted or refused.
bool wait_until_received(Window& window, Target& target, Awaited awaited);
/// Whether the requested lock has been granted, or refused.
bool take_lock_decision(Window& window, Target& target);
/// Records a lock that this process holds, or will hold before any lock that it requests later.
void note_granted(Window& window, Target& target, engine::LockRequest const& request);
/// Releases the lock by the general path, behind the operations issued under it. The caller waits for the
/// completion of messages to the process that has the lock.
int release_behind_operations(Window& window, Target& target);
/// Whether the lock is mapped, and no operation under it is outstanding and no message was ever sent to the
/// process: the lock can then be released in place.
inline bool can_release_in_place(Window const& window, Target const& target) noexcept {
  return target.lock_word != nullptr && target.lock > Lock::unchecked && window.nam == nullptr &&
         !target.outstanding.is_set() && !target.process->is_lost() && target.process->newest() == 0;
}
/// Releases the lock behind the operations that were issued under it.
inline int release_lock(Window& window, Target& target) {
  if (can_release_in_place(window, target)) [[likely]] {
    // A full barrier: stores made under the lock precede the next holder's accesses.
    engine::Holder const holder = window.own_lock.holder;
    auto const result = target.lock_word->unlock(holder);
    if (result.outcome == engine::SharedLock::Outcome::done) [[likely]] {
      target.lock = Lock::none;
      engine::Issued const issued = window.engine.locks.finish_release(
          *target.process, target.lock_id, *target.lock_word, result, holder, window.context);
      return engine::failed(issued.status) ? class_of(window, issued.status) : MPI_SUCCESS;
    }
  }
  return release_behind_operations(window, target);
}

}  // namespace mpixrma::windows
