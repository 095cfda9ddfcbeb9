/// OriginStreams: progress of operations that have been issued.
#include <algorithm>
#include <new>
#include <utility>

#include "engine/base/take_each.hpp"
#include "engine/origin/peer_state.hpp"
#include "engine/proto/origin_streams.hpp"

namespace mpixrma::engine {

void OriginStreams::progress(Peer& peer) {
  OriginStream& stream = peer.state().messages;
  advance(peer);
  // No message is in flight whose reply would trigger sending the batch.
  if (stream.has_open_batch() && !stream.expects_acknowledgement()) sender_.send_batch(peer);
  std::uint64_t const executed = stream.executed.load(std::memory_order_relaxed);
  // In issue order: entries behind one that is not sent completely cannot be finished.
  for (TrackedOperation* entry = stream.unfinished.front(); entry != nullptr && entry->sent_completely();) {
    TrackedOperation* const next = entry->next;
    if (TrackedOperations::is_finished(*entry, executed)) tracked_.finish(*entry);
    entry = next;
  }
  tracked_.finish_detached();
  stream.untracked.drop(executed);
  if (std::uint64_t const position = peer.access_deferred_until();
      position != 0 && stream.is_executed(position))
    peer.allow_direct_access(position);
}

void OriginStreams::note_due(Peer& peer) noexcept {
  OriginStream& stream = peer.state().messages;
  if (stream.is_due) return;
  stream.is_due = true;
  due_.push_back(&peer);
}

void OriginStreams::progress_due() {
  while (!due_.empty()) {
    Peer& peer = *due_.back();
    due_.pop_back();
    peer.state().messages.is_due = false;
    try {
      progress(peer);
    } catch (std::bad_alloc const&) {
      note_due(peer);  // no later event may make it due again
      throw;
    }
  }
}

/// Pauses for longer each time, so that waiting threads can take the stripes that the operation releases.
void OriginStreams::note_busy(TrackedOperation& entry) {
  constexpr unsigned longest_pause = 6;
  entry.stripe_lock.release();
  busy_retries_.push_back({entry.operation_id, 1u << std::min(entry.busy_replies++, longest_pause)});
}

void OriginStreams::retry() {
  take_each(stalled_, [&](Peer* peer) { progress(*peer); });
  std::vector<BusyRetry> waiting;
  waiting.reserve(busy_retries_.size());  // `busy_retries_` takes them back without further memory
  waiting.swap(busy_retries_);
  for (auto const& [operation_id, pause] : waiting) {
    TrackedOperation* const entry = tracked_.find(operation_id);
    if (entry == nullptr || entry->peer->state().messages.broken) continue;  // lost meanwhile
    if (pause == 0 && entry->stripe_lock.acquire()) {
      send_again(*entry);
    } else {
      busy_retries_.push_back({operation_id, pause == 0 ? 0 : pause - 1});
    }
  }
}

/// Resends a message whose reply was `busy`, at its old position of the stream.
void OriginStreams::send_again(TrackedOperation& entry) {
  if (entry.lock == LockState::requested) return send_lock(entry);
  MessageOperation& operation = entry.operation;
  operation.excluded_from_batch = true;  // whose positions ascend
  auto const fragment = fragment_or_fail(*entry.peer, operation, 0);
  if (fragment) (void)send_fragment(*entry.peer, operation, *fragment, entry.last_sequence, &entry);
}

bool OriginStreams::executed_or_request_ack(Peer& peer, std::uint64_t sequence) {
  OriginStream const& stream = peer.state().messages;
  if (stream.is_executed(sequence)) return true;
  bool const ack_is_coming = sequence <= stream.delayed.newest_undelayed(peer.newest());
  if (ack_is_coming || failed(sessions_.ensure_session(peer))) return false;
  // An empty put, whose acknowledgement covers everything before it.
  MessageOperation nothing;
  nothing.header = wire::begin_header<wire::RequestHeader>(wire::RequestKind::put);
  peer.state().messages.delayed.note_request(queue(peer, nothing).last_sequence);
  advance(peer);
  return false;
}

void OriginStreams::remove_peer(Peer const& peer) noexcept {
  std::erase(stalled_, &peer);
  std::erase_if(out_of_band_, [&](auto const& known) { return known.first == &peer; });
}

}  // namespace mpixrma::engine
