/// Dispatch: order of operations on overlapping memory of a peer, by any protocols.
#include <algorithm>
#include <memory>

#include "engine/origin/recent_accesses.hpp"
#include "engine/runtime/dispatch.hpp"

namespace mpixrma::engine {

/// Whether accesses are recorded: only if an operation can overtake messages.
bool Dispatch::tracks_accesses() const noexcept {
  return has(original_.flags, OpFlags::overlap_ordered) &&
         (peer_state().shares_memory || state_.has_unordered_protocol_between_hosts());
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

/// Returns the messages, and the unordered transfers, that the operation must follow. Under the channel's
/// lock.
Predecessors Dispatch::predecessors() const {
  OriginStream& stream = peer_state().messages;
  UnorderedTransfers const& transfers = peer_state().transfers();
  Predecessors before{stream.followed_by_all, transfers.fence};
  if (has(original_.flags, OpFlags::ordered)) {
    before.message = std::max(before.message, stream.ordered);
    before.transfer = std::max(before.transfer, transfers.newest_ordered);
  }
  if (tracks_accesses()) {
    TargetAccess const access = access_of(original_);
    if (stream.accesses == nullptr) stream.accesses = std::make_unique<RecentAccesses>();
    before.message = std::max(before.message, stream.accesses->newest_conflict(access));
    before.transfer = std::max(before.transfer, transfers.accesses.newest_conflict(access));
  }
  return before;
}

void Dispatch::track_access(Protocol protocol, Issued const& issued) const noexcept {
  if (failed(issued.status) || !tracks_accesses()) return;
  TargetAccess const access = access_of(original_);
  if (protocol == Protocol::message) return peer_state().messages.accesses->note(access, issued.sequence);
  UnorderedTransfers& transfers = *peer_state().transfers_if_any();
  transfers.accesses.note(access, transfers.issued);
}

}  // namespace mpixrma::engine
