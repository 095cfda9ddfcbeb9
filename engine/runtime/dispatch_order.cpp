/// Dispatch: order of operations on overlapping memory of a peer, by any protocols.
#include <algorithm>
#include <memory>

#include "engine/origin/recent_accesses.hpp"
#include "engine/runtime/dispatch.hpp"

namespace mpixrma::engine {

/// Whether accesses are recorded: only if an operation can overtake messages.
bool Dispatch::tracks_accesses() const noexcept {
  return has(original_.flags, OpFlags::overlap_ordered) &&
         (peer_state().shares_memory || state_.network_usable);
}

/// Waits for the messages that an operation by a protocol of Stage::at_once would overtake.
void Dispatch::wait_for_overlapping() {
  std::uint64_t last = 0;
  {
    std::lock_guard const held(channel().lock);
    auto const& accesses = peer_state().messages.accesses;
    if (accesses != nullptr) last = accesses->newest_conflict(access_of(original_));
  }
  if (last != 0)
    engine_.waits.until(peer_, [&] { return engine_.order.executed_or_request_ack(peer_, last); });
}

/// Returns the messages, and the UCX puts and gets, that the operation must follow. Under the channel's lock.
Predecessors Dispatch::predecessors() const {
  MessageStream& stream = peer_state().messages;
  NetworkState const& network = peer_state().network();
  Predecessors before{stream.fence, network.fence};
  if (has(original_.flags, OpFlags::ordered)) {
    before.message = std::max(before.message, stream.ordered);
    before.network = std::max(before.network, network.newest_ordered);
  }
  if (tracks_accesses()) {
    TargetAccess const access = access_of(original_);
    if (stream.accesses == nullptr) stream.accesses = std::make_unique<RecentAccesses>();
    before.message = std::max(before.message, stream.accesses->newest_conflict(access));
    before.network = std::max(before.network, network.accesses.newest_conflict(access));
  }
  return before;
}

void Dispatch::track_access(Path path, Issued const& issued) const noexcept {
  if (failed(issued.status) || !tracks_accesses()) return;
  TargetAccess const access = access_of(original_);
  if (path == Path::network) {
    NetworkState& network = *peer_state().network_if_any();
    network.accesses.note(access, network.issued);
  } else {
    peer_state().messages.accesses->note(access, issued.sequence);
  }
}

}  // namespace mpixrma::engine
