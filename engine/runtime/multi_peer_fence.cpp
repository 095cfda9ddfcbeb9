/// EngineOrder: order across several peers.
#include "engine/runtime/multi_peer_fence.hpp"

#include <new>

#include "engine/runtime/order.hpp"
#include "engine/runtime/state.hpp"

namespace mpixrma::engine {

bool EngineOrder::complete_or_start_flush(Peer& peer, std::uint64_t sequence) {
  std::lock_guard const held(channel_of(peer).lock);
  return peer.state().messages.is_executed(std::min(sequence, peer.newest())) &&
         ended_or_start_flush(peer, peer.state().transfers().issued);
}

void EngineOrder::fence(std::span<PeerSequence const> earlier) noexcept try {
  std::vector<PeerSequence> unfinished;
  for (PeerSequence const& issued : earlier) {
    fence(*issued.peer, issued.sequence);
    if (!complete_or_start_flush(*issued.peer, issued.sequence)) unfinished.push_back(issued);
  }
  if (unfinished.empty()) return;
  std::lock_guard const held(state_.peers.lock);
  for (PeerSequence const& issued : unfinished) {
    if (state_.multi_peer_fence.add(issued)) ++issued.peer->state().users;
  }
  state_.peers.for_each([](Peer& peer) { peer.defer_direct_access(Peer::deferred_by_multi_peer_fence); });
} catch (std::bad_alloc const&) {
  for (PeerSequence const& issued : earlier) complete(*issued.peer, issued.sequence);
}

/// Ends the multi-peer fence for loads and stores; an access to a peer may still wait for messages to that
/// peer.
void EngineOrder::end_multi_peer_fence() {
  state_.peers.for_each([](Peer& peer) {
    std::lock_guard const held(channel_of(peer).lock);
    std::uint64_t const newest = peer.newest();
    peer.end_multi_peer_deferral(peer.state().messages.is_executed(newest) ? 0 : newest);
  });
}

void EngineOrder::wait_for_multi_peer_fence(Peer const* next) {
  std::vector<PeerSequence> before;
  {
    std::lock_guard const held(state_.peers.lock);
    before = state_.multi_peer_fence.unfinished();
  }
  std::erase_if(before, [&](PeerSequence const& issued) {
    return issued.peer == next && !complete_or_start_flush(*issued.peer, issued.sequence);
  });
  for (PeerSequence const& issued : before) complete(*issued.peer, issued.sequence);
  std::vector<Peer*> ended;
  {
    std::lock_guard const held(state_.peers.lock);
    for (PeerSequence const& issued : before) {
      if (state_.multi_peer_fence.remove(issued)) ended.push_back(issued.peer);
    }
    if (!ended.empty() && !state_.multi_peer_fence.is_pending()) end_multi_peer_fence();
  }
  for (Peer* const peer : ended) peers_.release(*peer);
}

}  // namespace mpixrma::engine
