#include "engine/runtime/order.hpp"

#include <algorithm>
#include <utility>

#include "engine/runtime/state.hpp"

namespace mpixrma::engine {

namespace {

/// Sends the batch to the peer, as a waiting thread would. Returns the operations up to `sequence`.
Watches::Operations send_up_to(Peer& peer, std::uint64_t sequence) {
  Watches::Operations issued{&peer, std::min(sequence, peer.newest()), 0, false, 0, nullptr};
  std::lock_guard const held(channel_of(peer).lock);
  channel_of(peer).message_protocol.sender.send_batch(peer);
  issued.transfer = peer.state().transfers().issued;
  return issued;
}

}  // namespace

std::uint64_t EngineOrder::newest(Peer const& peer) noexcept { return peer.newest(); }

bool EngineOrder::executed_or_request_ack(Peer& peer, std::uint64_t sequence) {
  std::lock_guard const held(channel_of(peer).lock);
  return channel_of(peer).message_protocol.streams.executed_or_request_ack(peer, sequence);
}

/// Reads the position only once per iteration: at any time another thread may begin a multi-peer fence, which
/// stores a mark that is not a position in the stream.
void EngineOrder::wait_for_deferred_access(Peer& peer) {
  std::uint64_t position = peer.access_deferred_until();
  for (; position == Peer::deferred_by_multi_peer_fence; position = peer.access_deferred_until())
    wait_for_multi_peer_fence(nullptr);
  if (position == 0 || peer.is_lost()) return;
  waits_.until(peer, [&] { return executed_or_request_ack(peer, position); });
  peer.allow_direct_access(position);
}

/// Without messages to itself there is nothing to wait for.
void EngineOrder::wait_for_puts_to_self() {
  Peer* const self = state_.peers.self();
  if (self == nullptr || self->newest() == 0) return;
  waits_.until(*self, [&] {
    std::lock_guard const held(channel_of(*self).lock);
    return self->state().messages.is_executed(self->state().messages.ordered) &&
           ended_or_start_flush(*self, self->state().transfers().newest_ordered);
  });
}

void EngineOrder::wait_for_room(Peer& peer) {
  Channel& channel = channel_of(peer);
  waits_.until(peer, [&] {
    std::lock_guard const held(channel.lock);
    return !channel.message_protocol.streams.is_full(peer);
  });
}

void EngineOrder::complete(Peer& peer, std::uint64_t sequence) {
  std::uint64_t const last = std::min(sequence, peer.newest());
  if (sequence != 0) {
    std::uint64_t const began = waits_.begin_trace();
    waits_.until(peer, [&] { return executed_or_request_ack(peer, last); });
    {
      std::unique_lock held(channel_of(peer).lock);
      wait_for_transfers(peer, peer.state().transfers().issued, held);
    }
    waits_.end_trace(peer, began, last);
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

bool EngineOrder::is_complete_locally(Peer& peer, std::uint64_t sequence, std::uint64_t transfer) {
  std::lock_guard const held(channel_of(peer).lock);
  return peer.state().messages.is_complete_locally(sequence) && are_released(peer, transfer);
}

void EngineOrder::complete_local(Peer& peer, std::uint64_t sequence) {
  // Stores, loads and the kernel's copies are done when their call returns.
  if (sequence == 0) return;
  std::uint64_t const last = std::min(sequence, peer.newest());
  std::uint64_t transfer = 0;
  {
    std::lock_guard const held(channel_of(peer).lock);
    channel_of(peer).message_protocol.sender.send_batch(peer);
    transfer = peer.state().transfers().issued;
  }
  waits_.until(peer, [&] { return is_complete_locally(peer, last, transfer); });
}

void EngineOrder::watch(Peer& peer, std::uint64_t sequence, std::uint32_t context, Completion& completion,
                        LateError* error) noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  Watches::Operations issued = send_up_to(peer, sequence);
  issued.context = context;
  issued.error = error;
  state_.watches.add(issued, completion);
}

void EngineOrder::watch_local(Peer& peer, std::uint64_t sequence, Completion& completion) noexcept {
  Watches::Operations issued = send_up_to(peer, sequence);
  issued.local = true;
  state_.watches.add(issued, completion);
}

bool EngineOrder::test(Peer& peer, std::uint64_t sequence) {
  Channel& channel = channel_of(peer);
  channel.poll_now();
  std::lock_guard const held(channel.lock);
  bool const finished =
      channel.message_protocol.streams.executed_or_request_ack(peer, std::min(sequence, peer.newest()));
  channel.progress_self_messages();
  return finished && ended_or_start_flush(peer, peer.state().transfers().issued);
}

void EngineOrder::fence(Peer& peer, std::uint64_t sequence, OpenBatch batch) noexcept {
  // The stores of this thread, and those of others that it knows of, must be visible to all before a later
  // load is performed. A release fence would leave them in the store buffer, where a load overtakes them.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (sequence == 0) return;
  std::lock_guard const held(channel_of(peer).lock);
  if (UnorderedTransfers* const transfers = peer.state().transfers_if_any())
    transfers->fence = transfers->issued;
  std::uint64_t const last = std::min(sequence, peer.newest());
  if (peer.state().messages.is_executed(last)) return;
  OriginStream& stream = peer.state().messages;
  stream.followed_by_all = std::max(stream.followed_by_all, last);
  if (peer.state().shares_memory) peer.defer_direct_access(last);
  if (batch == OpenBatch::kept) return;
  Channel& channel = channel_of(peer);
  channel.message_protocol.sender.send_batch(peer);
  channel.progress_self_messages();
}

}  // namespace mpixrma::engine
