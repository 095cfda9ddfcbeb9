#include "engine/runtime/locks.hpp"

#include <sched.h>

#include <atomic>
#include <chrono>

#include "engine/base/backoff.hpp"
#include "engine/base/liveness.hpp"
#include "engine/runtime/state.hpp"
#include "engine/sync/shared_lock.hpp"

namespace mpixrma::engine {

namespace {

/// As own_holder(), inlined for the fast path of an uncontended lock.
inline Holder holder_here(EngineState const& state, std::uint32_t owner) noexcept {
  return holder_of(own_process, state.bootstrap.process, owner);
}

}  // namespace

EngineLocks::EngineLocks(EngineState& state, EngineWaits& waits, EngineOrder& order) noexcept
    : state_(state), waits_(waits), order_(order) {
  state.peers.pending_lock = &pending_;
}

Status EngineLocks::create(std::uint32_t count, LockId* first) { return state_.locks.create(count, first); }

Status EngineLocks::destroy(LockId first, std::uint32_t count) { return state_.locks.destroy(first, count); }

SharedLock* EngineLocks::word(Peer& peer, LockId lock) {
  PeerState& state = peer.state();
  bool const is_mapped =
      state.shares_memory && state_.may_use(MPIX_ENGINE_PROTOCOL_DIRECT) && lock < shared_lock_count;
  return is_mapped ? &state.segments->locks()[lock] : nullptr;
}

Holder EngineLocks::own_holder(std::uint32_t owner) const noexcept { return holder_here(state_, owner); }

LockClock& EngineLocks::clock() noexcept { return state_.locks.clock(); }

LockClock* EngineLocks::clock(Peer& peer) noexcept {
  PeerState& state = peer.state();
  return state.shares_memory ? &state.segments->lock_clock() : nullptr;
}

/// Waits briefly for a lock that is held for a short time: it becomes free before the agent could reply.
/// Requests at the agent take precedence; longer waits go to the agent's queue.
bool EngineLocks::try_lock_spin(SharedLock& word, Holder holder, LockMode mode) {
  constexpr std::chrono::microseconds spin_time{50};
  constexpr unsigned polls_per_turn = 64;
  std::chrono::steady_clock::time_point end;
  for (unsigned polls = 1;; ++polls) {
    if (word.seems_free()) {
      auto const [outcome, agent_has_requests] = word.try_lock(holder, mode);
      if (outcome == SharedLock::Outcome::done) return true;
      if (agent_has_requests || outcome == SharedLock::Outcome::missing) return false;
    }
    word.want();
    cpu_relax();
    if (polls % polls_per_turn != 0) continue;
    auto const now = std::chrono::steady_clock::now();
    if (polls == polls_per_turn) end = now + spin_time;
    if (now >= end) return false;
    // The holder may need this core, or progress of this process.
    waits_.progress();
    sched_yield();
  }
}

Issued EngineLocks::acquire(Peer& peer, LockRequest const& request) {
  if (request.owner >= max_lock_owners || request.completion == nullptr)
    return Issued::ended(Status::bad_argument);
  if (!request.skips_pending) finish_pending();
  if (peer.is_unreachable_by_messages()) return Issued::ended(Status::unreachable);
  if (SharedLock* const word = this->word(peer, request.lock)) {
    Holder const holder = holder_here(state_, request.owner);
    auto const [outcome, agent_has_requests] = word->try_lock(holder, request.mode);
    if (outcome == SharedLock::Outcome::done) return {};
    bool const wrong = outcome == SharedLock::Outcome::missing || word->is_held_by(holder);
    // The agent may have granted shared locks.
    bool const open = request.mode == LockMode::shared && word->is_queued();
    bool const is_rejected = wrong || (request.attempt && !open && !may_be_orphaned(*word));
    if (is_rejected && agent_has_requests) (void)report_release(peer, request.lock, request.owner, 0);
    if (is_rejected) return Issued::ended(wrong ? Status::bad_argument : Status::busy);
    if (!request.attempt && !agent_has_requests && try_lock_spin(*word, holder, request.mode)) return {};
  }
  order_.wait_for_room(peer);
  Channel& channel = channel_of(peer);
  std::lock_guard const held(channel.lock);
  Issued const issued = channel.message_protocol.lock_requests.acquire(peer, request);
  channel.progress();
  channel.wake_agent_if_needed();
  return issued;
}

std::optional<Issued> EngineLocks::acquire_in_stream(Peer& peer, LockRequest const& request,
                                                     std::uint32_t context) {
  bool const may_overtake = peer.state().shares_memory || state_.has_unordered_protocol_between_hosts() ||
                            peer.process() == state_.bootstrap.process;
  if (may_overtake || request.owner >= max_lock_owners) return std::nullopt;
  finish_pending();
  if (peer.is_lost()) return Issued::ended(Status::unreachable);
  Channel& channel = channel_of(peer);
  std::lock_guard const held(channel.lock);
  std::optional<Issued> const issued =
      channel.message_protocol.lock_requests.acquire_in_stream(peer, request, context);
  if (!issued || failed(issued->status)) return issued;
  pending_.sequence = issued->sequence;
  pending_.peer.store(&peer, std::memory_order_relaxed);
  channel.progress();
  channel.wake_agent_if_needed();
  return issued;
}

bool EngineLocks::none_pending_or_request_ack() {
  Peer* const peer = pending_.peer.load(std::memory_order_relaxed);
  return peer == nullptr || order_.executed_or_request_ack(*peer, pending_.sequence);
}

void EngineLocks::wait_for_pending() {
  Peer& peer = *pending_.peer.exchange(nullptr, std::memory_order_relaxed);
  waits_.until(peer, [&] { return order_.executed_or_request_ack(peer, pending_.sequence); });
}

bool EngineLocks::wait_for_stream_lock(Peer& peer, Layout const& target, OpFlags flags) {
  OriginStream& stream = peer.state().messages;
  if (!stream.stream_lock_hint.load(std::memory_order_relaxed)) return true;
  Channel& channel = channel_of(peer);
  std::unique_lock held(channel.lock);
  std::uint64_t const lock = stream.followed_by_all;
  if (stream.may_wait_for_lock()) {
    if (!channel.message_protocol.lock_requests.must_not_follow_lock(peer, target, flags)) return true;
    if (has(flags, OpFlags::no_lock_wait)) {
      channel.message_protocol.sender.send_batch(peer);
      return false;
    }
    held.unlock();
    waits_.until(peer, [&] { return order_.executed_or_request_ack(peer, lock); });
  }
  stream.stream_lock_hint.store(false, std::memory_order_relaxed);
  return true;
}

bool EngineLocks::stream_may_wait_for_lock(Peer& peer) {
  OriginStream& stream = peer.state().messages;
  return stream.stream_lock_hint.load(std::memory_order_relaxed) &&
         !order_.executed_or_request_ack(peer, stream.followed_by_all);
}

Issued EngineLocks::release(Peer& peer, LockId lock, std::uint32_t owner, std::uint32_t context) {
  if (owner >= max_lock_owners) return Issued::ended(Status::bad_argument);
  if (peer.is_lost()) return Issued::ended(Status::unreachable);
  if (SharedLock* const word = this->word(peer, lock)) {
    Holder const holder = holder_here(state_, owner);
    // Messages issued under the lock must precede the next holder's operations.
    if (peer.newest() != 0 && word->is_held_by(holder)) order_.complete(peer, peer.newest());
    if (auto const result = word->unlock(holder); result.outcome == SharedLock::Outcome::done)
      return finish_release(peer, lock, *word, result, holder, context);
  }
  // Stores made under the lock leave this processor's store buffer before the message is sent.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return send_release(peer, lock, owner, wire::LockReleaseKind::acquired_by_message, context);
}

Issued EngineLocks::release_to_agent(Peer& peer, LockId lock, SharedLock& word, Holder holder,
                                     std::uint32_t context) {
  if (word.is_wanted()) give_way(word);
  return report_release(peer, lock, owner_of(holder), context);
}

Issued EngineLocks::release_to_waiters(SharedLock& word) {
  give_way(word);
  return {};
}

Issued EngineLocks::report_release(Peer& peer, LockId lock, std::uint32_t owner, std::uint32_t context) {
  return send_release(peer, lock, owner, wire::LockReleaseKind::acquired_in_shared_memory, context);
}

Issued EngineLocks::send_release(Peer& peer, LockId lock, std::uint32_t owner, wire::LockReleaseKind kind,
                                 std::uint32_t context) {
  order_.wait_for_room(peer);
  (void)wait_for_stream_lock(peer, {}, OpFlags::none);
  Channel& channel = channel_of(peer);
  std::unique_lock held(channel.lock);
  // Unordered transfers have no position in the stream of messages: they must end before the release.
  wait_for_transfers(peer, peer.state().transfers().issued, held);
  Issued const issued = channel.message_protocol.lock_requests.release(peer, lock, owner, kind, context);
  channel.progress();
  channel.wake_agent_if_needed();
  return issued;
}

}  // namespace mpixrma::engine
