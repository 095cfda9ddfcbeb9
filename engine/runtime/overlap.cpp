/// Engine: order of operations on overlapping memory of a peer, on any paths.
#include <algorithm>
#include <memory>

#include "engine/origin/recent_accesses.hpp"
#include "engine/runtime/engine.hpp"
#include "engine/runtime/state.hpp"

namespace mpixrma::engine {

/// Only if an operation can overtake messages.
bool Engine::keeps_accesses(Peer& peer, Guarantee guarantees) const noexcept {
  return has(guarantees, Guarantee::overlap_ordered) && (peer.state().same_host || state_->network_usable);
}

/// Waits for the messages that an operation by load and store, through the kernel or through the ring would
/// overtake.
void Engine::wait_for_overlapping(Peer& peer, TargetAccess const& access) {
  std::uint64_t last = 0;
  {
    std::lock_guard const held(channel_of(peer).lock);
    auto const& accesses = peer.state().messages.accesses;
    if (accesses != nullptr) last = accesses->newest_conflict(access);
  }
  if (last != 0) wait_until(peer, [&] { return finished(peer, last); });
}

/// Returns the predecessors of an operation about to be issued as a message, or by UCX put and get. Under the
/// channel's lock.
Predecessors Engine::predecessors_of(Peer& peer, Guarantee guarantees, TargetAccess const& access) {
  MessageStream& stream = peer.state().messages;
  NetworkState const& network = peer.state().network();
  Predecessors before{stream.fence, network.fence};
  if (has(guarantees, Guarantee::ordered)) {
    before.message = std::max(before.message, stream.ordered);
    before.network = std::max(before.network, network.newest_ordered);
  }
  if (keeps_accesses(peer, guarantees)) {
    if (stream.accesses == nullptr) stream.accesses = std::make_unique<RecentAccesses>();
    before.message = std::max(before.message, stream.accesses->newest_conflict(access));
    before.network = std::max(before.network, network.accesses.newest_conflict(access));
  }
  return before;
}

/// Records an operation for which predecessors_of() was called. Under the channel's lock, which was not
/// released since the operation was issued.
void Engine::note_access(Peer& peer, Guarantee guarantees, TargetAccess const& access, Path path,
                         Issued const& issued) const noexcept {
  if (failed(issued.status) || !keeps_accesses(peer, guarantees)) return;
  if (path == Path::network) {
    NetworkState& network = *peer.state().network_if_any();
    network.accesses.note(access, network.issued);
  } else {
    peer.state().messages.accesses->note(access, issued.sequence);
  }
}

}  // namespace mpixrma::engine
