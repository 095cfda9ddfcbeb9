/// Calls on a target that may not be accessed yet, because its post or its lock has not arrived. The calls
/// wait in a queue of the target and are issued in order.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include "engine/base/status.hpp"
#include "engine/sync/lock.hpp"
#include "mpi-windows/nam/lock_wait.hpp"

namespace mpixrma::windows {

class Window;
struct Target;

class QueuedCall {
 public:
  QueuedCall() = default;
  virtual ~QueuedCall() = default;
  QueuedCall(QueuedCall const&) = delete;
  QueuedCall& operator=(QueuedCall const&) = delete;

  /// Called once, without locks. If access to the target was refused, `access` is the failed status, and
  /// nothing may be issued. Returns an error code, which the next completion at the target reports.
  virtual int issue(Window& window, Target& target, engine::Status access) = 0;
};

/// Returns a queued call that executes `action`, which takes the arguments of QueuedCall::issue.
template <typename Action>
std::unique_ptr<QueuedCall> queued(Action action) {
  struct Call final : QueuedCall {
    explicit Call(Action does) : action(std::move(does)) {}
    int issue(Window& window, Target& target, engine::Status access) override {
      return action(window, target, access);
    }
    Action action;
  };
  return std::make_unique<Call>(std::move(action));
}

/// The event that the calls in a queue wait for. `stream`: an in-stream lock, which holds back the messages
/// to the target.
enum class Awaited : std::uint8_t { nothing, post, lock, nam_lock, stream };

/// Completion of a queued lock request.
struct LockGrant : engine::Completion {
  LockGrant() noexcept {
    done = [](engine::Completion& self, engine::Status result, std::size_t) noexcept {
      auto& grant = static_cast<LockGrant&>(self);
      grant.status = result;
      // Release: pairs with the acquires of the waiting threads, for `status`.
      grant.is_done.store(true, std::memory_order_release);
    };
  }
  engine::Status status = engine::Status::ok;
  std::atomic<bool> is_done{false};
};

/// Calls, and the state of the lock request or post that they wait for. One lock of the process protects
/// `calls`, `is_being_served` and `error` of all queues; the other members belong to the thread that opens
/// the target or serves the queue.
struct TargetQueue {
  std::deque<std::unique_ptr<QueuedCall>> calls;
  bool is_being_served = false;  ///< a thread checks for the grant, or issues the calls
  int error = 0;                 ///< first failure that no call has reported
  Awaited awaited = Awaited::nothing;
  engine::Status refused = engine::Status::ok;  ///< failed: lock refused, or queue abandoned
  int refusal = 0;                              ///< error code of `refused`
  engine::LockRequest request;
  std::uint64_t requested_at = 0;  ///< position of `request` in the stream of messages
  LockGrant grant;
  std::optional<NamLockWait> nam_wait;
};

/// Number of targets in this process that have queued calls, or wait for a post or a lock.
inline constinit std::atomic<std::size_t> queued_targets{0};

}  // namespace mpixrma::windows
