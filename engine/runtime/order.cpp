/// Engine: completion, order and atomicity: the waits of operations.
#include <algorithm>
#include <utility>

#include "engine/base/backoff.hpp"
#include "engine/runtime/engine.hpp"
#include "engine/runtime/state.hpp"
#include "engine/sync/footprint.hpp"

namespace mpixrma::engine {

std::uint64_t Engine::newest(Peer const& peer) noexcept { return peer.newest(); }

bool Engine::finished(Peer& peer, std::uint64_t sequence) {
  std::lock_guard const held(channel_of(peer).lock);
  return channel_of(peer).message_protocol.streams.await(peer, sequence);
}

/// The mark is read once in each round: another thread may begin a joint fence at any time, whose mark is no
/// position in the stream.
void Engine::wait_for_held_stores(Peer& peer) {
  std::uint64_t held = peer.stores_held_by();
  for (; held == Peer::held_jointly; held = peer.stores_held_by()) wait_for_joint_fence(nullptr);
  if (held == 0 || peer.is_lost()) return;
  wait_until(peer, [&] { return finished(peer, held); });
  peer.allow_stores(held);
}

/// An ordered get may write to memory of this process that an earlier ordered put of this process to itself
/// must write first. Without messages to itself there is nothing to wait for.
void Engine::wait_for_puts_to_self() {
  Peer* const self = state_->self.load(std::memory_order_acquire);
  if (self == nullptr || self->newest() == 0) return;
  wait_until(*self, [&] {
    std::lock_guard const held(channel_of(*self).lock);
    return self->state().messages.finished(self->state().messages.ordered);
  });
}

/// Waits until another operation may be queued for the peer.
void Engine::wait_for_room(Peer& peer) {
  Channel& channel = channel_of(peer);
  wait_until(peer, [&] {
    std::lock_guard const held(channel.lock);
    return !channel.message_protocol.streams.is_full(peer);
  });
}

template <typename Hold>
void Engine::acquire(Hold& hold) {
  // Most holders release soon; some wait for messages that this process must handle.
  constexpr unsigned relaxed_spins = 64;
  for (unsigned spins = 0; spins < relaxed_spins; ++spins) {
    if (hold.acquire()) return;
    cpu_relax();
  }
  wait_until([&] { return hold.acquire(); });
}

Holds Engine::stripes_for(Peer const& peer, Footprint const& footprint) noexcept {
  StripeTable& own = state_->segments.stripes();
  if (peer.stripes() == &own) return {StripeHold(own, footprint.origin | footprint.target), {}};
  StripeHold origin(own, footprint.origin);
  StripeHold target(*peer.stripes(), footprint.target);
  if (peer.process() < process()) return {std::move(target), std::move(origin)};
  return {std::move(origin), std::move(target)};
}

Holds Engine::hold(Peer& peer, Footprint const& footprint) {
  if (footprint.origin.empty() && footprint.target.empty()) return {};
  Holds holds = stripes_for(peer, footprint);
  acquire(holds);
  return holds;
}

StripeHold Engine::hold_origin(Peer const& peer, Footprint const& footprint) {
  // An operation of this process on itself is executed by its own agent, so all stripes are acquired here.
  bool const self = peer.process() == process() && !footprint.origin.empty();
  StripeSets const wanted = self ? footprint.origin | footprint.target : footprint.origin;
  if (wanted.empty()) return {};
  StripeHold hold(state_->segments.stripes(), wanted);
  acquire(hold);
  return hold;
}

void Engine::complete(Peer& peer, std::uint64_t sequence) {
  std::uint64_t const last = std::min(sequence, peer.newest());
  if (last != 0 || sequence != 0) {
    std::uint64_t const began = begin_wait();
    wait_until(peer, [&] { return finished(peer, last); });
    {
      std::unique_lock held(channel_of(peer).lock);
      wait_for_network(peer, peer.state().network().issued, held);
    }
    end_wait(peer, began, last);
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

bool Engine::finished_locally(Peer& peer, std::uint64_t sequence, std::uint64_t network) {
  std::lock_guard const held(channel_of(peer).lock);
  return peer.state().messages.finished_locally(sequence) && peer.state().network().released(network);
}

void Engine::complete_local(Peer& peer, std::uint64_t sequence) {
  // Stores, loads and the kernel's copies are done when their call returns.
  if (sequence == 0) return;
  std::uint64_t const last = std::min(sequence, peer.newest());
  std::uint64_t network = 0;
  {
    std::lock_guard const held(channel_of(peer).lock);
    channel_of(peer).message_protocol.sender.send_joined(peer);
    network = peer.state().network().issued;
  }
  wait_until(peer, [&] { return finished_locally(peer, last, network); });
}

void Engine::watch_issued(Peer& peer, std::uint64_t sequence, bool local, std::uint32_t context,
                          Completion& completion) noexcept {
  Watches::Operations issued{&peer, std::min(sequence, peer.newest()), 0, local, context};
  {
    std::lock_guard const held(channel_of(peer).lock);
    channel_of(peer).message_protocol.sender.send_joined(peer);
    issued.network = peer.state().network().issued;
  }
  state_->watches.add(issued, completion);
}

void Engine::watch(Peer& peer, std::uint64_t sequence, std::uint32_t context,
                   Completion& completion) noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  watch_issued(peer, sequence, false, context, completion);
}

void Engine::watch_local(Peer& peer, std::uint64_t sequence, Completion& completion) noexcept {
  watch_issued(peer, sequence, true, 0, completion);
}

bool Engine::test(Peer& peer, std::uint64_t sequence) {
  Channel& channel = channel_of(peer);
  channel.poll_now();
  std::lock_guard const held(channel.lock);
  bool const finished = channel.message_protocol.streams.await(peer, std::min(sequence, peer.newest()));
  channel.answer_itself();
  return finished && NetworkProtocol::reached(peer, peer.state().network().issued);
}

void Engine::fence(Peer& peer, std::uint64_t sequence) noexcept {
  // The stores of this thread, and those of others that it knows of, must be visible to all before a later
  // load is performed. A release fence would leave them in the store buffer, where a load overtakes them.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (sequence == 0) return;
  std::lock_guard const held(channel_of(peer).lock);
  if (NetworkState* const network = peer.state().network_if_any()) network->fence = network->issued;
  std::uint64_t const last = std::min(sequence, peer.newest());
  if (peer.state().messages.finished(last)) return;
  MessageStream& stream = peer.state().messages;
  stream.fence = std::max(stream.fence, last);
  if (peer.state().same_host) peer.hold_stores(last);
  Channel& channel = channel_of(peer);
  channel.message_protocol.sender.send_joined(peer);
  channel.answer_itself();
}

}  // namespace mpixrma::engine
