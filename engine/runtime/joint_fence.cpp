/// Engine: order across several peers.
#include "engine/runtime/joint_fence.hpp"

#include <new>

#include "engine/runtime/engine.hpp"
#include "engine/runtime/state.hpp"

namespace mpixrma::engine {

bool Engine::is_complete(Peer& peer, std::uint64_t sequence) {
  std::lock_guard const held(channel_of(peer).lock);
  return peer.state().messages.finished(std::min(sequence, peer.newest())) &&
         NetworkProtocol::reached(peer, peer.state().network().issued);
}

void Engine::fence(std::span<IssuedTo const> before) noexcept try {
  std::vector<IssuedTo> unfinished;
  for (IssuedTo const& issued : before) {
    fence(*issued.peer, issued.sequence);
    if (!is_complete(*issued.peer, issued.sequence)) unfinished.push_back(issued);
  }
  if (unfinished.empty()) return;
  std::lock_guard const held(state_->peers_lock);
  for (IssuedTo const& issued : unfinished) {
    if (state_->joint_fence.add(issued)) ++issued.peer->state().users;
  }
  for (auto const& [process, peer] : state_->peers) peer->hold_stores(Peer::held_jointly);
} catch (std::bad_alloc const&) {
  for (IssuedTo const& issued : before) complete(*issued.peer, issued.sequence);
}

/// Ends the joint fence for stores. Those to a peer may still have to wait for messages to it.
void Engine::State::end_joint_fence() {
  for (auto const& [process, peer] : peers) {
    std::lock_guard const held(peer->state().channel->lock);
    std::uint64_t const newest = peer->newest();
    peer->hold_only(peer->state().messages.finished(newest) ? 0 : newest);
  }
}

/// Waits for the messages before a joint fence; not for those to `next`, behind which a message has its
/// place.
void Engine::wait_for_joint_fence(Peer const* next) {
  std::vector<IssuedTo> before;
  {
    std::lock_guard const held(state_->peers_lock);
    before = state_->joint_fence.unfinished();
  }
  std::erase_if(before, [&](IssuedTo const& issued) {
    return issued.peer == next && !is_complete(*issued.peer, issued.sequence);
  });
  for (IssuedTo const& issued : before) complete(*issued.peer, issued.sequence);
  std::vector<Peer*> ended;
  {
    std::lock_guard const held(state_->peers_lock);
    for (IssuedTo const& issued : before) {
      if (state_->joint_fence.remove(issued)) ended.push_back(issued.peer);
    }
    if (!ended.empty() && !state_->joint_fence.is_pending()) state_->end_joint_fence();
  }
  for (Peer* const peer : ended) release(*peer);
}

}  // namespace mpixrma::engine
