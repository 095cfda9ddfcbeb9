/// Locks of this process and of others.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/base/visibility.h"
#include "engine/op/operation.hpp"
#include "engine/origin/peer.hpp"
#include "engine/runtime/order.hpp"
#include "engine/runtime/pending_lock.hpp"
#include "engine/runtime/waits.hpp"
#include "engine/sync/lock.hpp"
#include "engine/sync/lock_clock.hpp"
#include "engine/sync/shared_lock.hpp"

namespace mpixrma::engine {

namespace wire {
enum class LockReleaseKind : std::uint8_t;
}  // namespace wire

class MPIX_ENGINE_API EngineLocks {
 public:
  EngineLocks(EngineState& state, EngineWaits& waits, EngineOrder& order) noexcept;
  EngineLocks(EngineLocks const&) = delete;
  EngineLocks& operator=(EngineLocks const&) = delete;

  /// Creates `count` free locks of this process, with consecutive numbers from `*first` on. Local.
  /// bad_argument: `count` is 0; out_of_memory: too many.
  Status create(std::uint32_t count, LockId* first);
  /// Destroys locks of this process. Waiting and later requests fail with Status::bad_argument, and holders
  /// lose them. bad_argument: a lock does not exist, and none is destroyed.
  Status destroy(LockId first, std::uint32_t count);

  /// Requests a lock of `peer` for an owner in this process: it is held when the call returns complete, or
  /// when `completion` receives Status::ok. Requests that wait are served in FIFO order, unless they overtake
  /// (LockRequest::overtakes), adjacent shared requests together. A holder that ends loses the lock, a
  /// waiting process its place. Does not wait for the lock; neither does EngineOrder::complete wait for
  /// locks. Errors, by the call or by the completion: bad_argument: no such lock, or the owner holds it or
  /// waits for it already; busy: an attempt, and the lock is not free; transport, unreachable: the peer has
  /// ended.
  Issued acquire(Peer& peer, LockRequest const& request);
  /// As acquire(), for peers that are reached only by messages: later operations to the peer wait at the peer
  /// until the lock is held; the caller does not wait. Only for processes in which no other thread issues
  /// operations, because these would wait too. request.attempt must be false; request.completion is not used.
  /// EngineFailures::take(peer, context) reports a failure. The request is sent in a batch with later small
  /// operations: at the release, or when a thread waits or progresses. Returns nullopt if this is not
  /// possible, or not now.
  std::optional<Issued> acquire_in_stream(Peer& peer, LockRequest const& request, std::uint32_t context);
  /// Waits for the pending in-stream lock, if any. acquire() (except with LockRequest::skips_pending) and
  /// acquire_in_stream() do so first, and callers that acquire locks by word() should do so too: a process
  /// requests locks one after the other, in the order of its calls.
  void finish_pending() {
    if (pending_.peer.load(std::memory_order_relaxed) != nullptr) [[unlikely]]
      wait_for_pending();
  }
  /// Whether no in-stream lock is pending, so that finish_pending() would return at once. If one is pending,
  /// requests the acknowledgement that shows its grant.
  bool none_pending_or_request_ack();
  /// Whether the stream to the peer may wait for a lock that was requested by acquire_in_stream().
  bool stream_may_wait_for_lock(Peer& peer);
  /// Releases a lock. Releasing orders all operations that this process issued to `peer` before the next
  /// holder's, whatever protocols they take: a release by message waits for UCX puts and gets, and the
  /// release of a lock that was acquired without messages waits for messages. Locally complete when the call
  /// returns; EngineOrder::complete(peer, sequence) waits until the release is executed. bad_argument: not
  /// held by `owner`, reported by the call or by EngineFailures::take(peer, context).
  Issued release(Peer& peer, LockId lock, std::uint32_t owner, std::uint32_t context = 0);

  /// Returns the lock word if both processes have it in memory, for frequent use: SharedLock::try_lock() and
  /// unlock() with own_holder(), and finish_release(). acquire() and release() cover the remaining cases.
  /// nullptr: not available.
  SharedLock* word(Peer& peer, LockId lock);
  /// Called when `holder` has released `word`, which is word(peer, lock), with `result`: notifies those who
  /// wait for it.
  Issued finish_release(Peer& peer, LockId lock, SharedLock& word, SharedLock::Result result, Holder holder,
                        std::uint32_t context) {
    if (!result.agent_has_requests && !word.is_wanted()) [[likely]]
      return {};
    return result.agent_has_requests ? release_to_agent(peer, lock, word, holder, context)
                                     : release_to_waiters(word);
  }
  Holder own_holder(std::uint32_t owner) const noexcept;

  /// The clock of the locks of this process, raised to the times received from others.
  LockClock& clock() noexcept;
  /// The clock of a peer, or nullptr if it is not accessible. Accessible whenever word() is.
  LockClock* clock(Peer& peer) noexcept;

  /// Called before an operation on `target` is issued: waits for a pending in-stream lock if the operation
  /// could not be sent at once, and so must not queue behind the lock. With OpFlags::no_lock_wait, instead of
  /// waiting sends the request for the lock and returns false.
  bool wait_for_stream_lock(Peer& peer, Layout const& target, OpFlags flags);

 private:
  void wait_for_pending();
  bool try_lock_spin(SharedLock& word, Holder holder, LockMode mode);
  /// Ends finish_release() if requests wait for the lock at the peer's agent.
  Issued release_to_agent(Peer& peer, LockId lock, SharedLock& word, Holder holder, std::uint32_t context);
  /// Ends finish_release() if threads wait for the word, but no request waits at the agent.
  static Issued release_to_waiters(SharedLock& word);
  /// Notifies the peer's agent that this owner has released the lock, so that it serves its queue.
  Issued report_release(Peer& peer, LockId lock, std::uint32_t owner, std::uint32_t context);
  Issued send_release(Peer& peer, LockId lock, std::uint32_t owner, wire::LockReleaseKind kind,
                      std::uint32_t context);

  PendingLock pending_;
  EngineState& state_;
  EngineWaits& waits_;
  EngineOrder& order_;
};

}  // namespace mpixrma::engine
