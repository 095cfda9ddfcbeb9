#include "engine/proto/tracked_operations.hpp"

#include <new>
#include <utility>

#include "engine/origin/peer_state.hpp"

namespace mpixrma::engine {

namespace {

LateError late_error_of(TrackedOperation const& entry) noexcept {
  wire::RequestHeader const& header = entry.operation.header;
  return {entry.status,
          wire::reported_operation(header),
          {header.address, header.total, entry.operation.target.is_contiguous(),
           static_cast<ExposureId>(header.exposure)},
          LateError::of_peer,
          {entry.last_sequence, 0}};
}

/// Whether the operation is only sent: the connection may be lost before the target executes it.
bool may_be_lost(TrackedOperation const& entry) noexcept {
  if (failed(entry.status) || entry.executed || entry.operation.expects_data()) return false;
  OriginStream const& stream = entry.peer->state().messages;
  return entry.operation.total != 0 && entry.last_sequence > stream.executed.load(std::memory_order_relaxed);
}

/// Returns false if there is no memory.
bool note_untracked(TrackedOperation const& entry) noexcept try {
  entry.peer->state().messages.untracked.note(entry.operation.header.context, entry.last_sequence);
  return true;
} catch (std::bad_alloc const&) {
  return false;
}

}  // namespace

TrackedOperation& TrackedOperations::remember(Peer& peer, MessageOperation const& operation) {
  TrackedOperation& entry = pool_.take();
  entry.operation = operation;
  entry.target_layout = OwnedLayout(operation.target);
  entry.source_layout = OwnedLayout(operation.source_layout);
  entry.sink_layout = OwnedLayout(operation.sink_layout);
  entry.operation.target = entry.target_layout.view();
  entry.operation.source_layout = entry.source_layout.view();
  entry.operation.sink_layout = entry.sink_layout.view();
  entry.operation.header.operation_id = entry.operation_id;
  entry.peer = &peer;
  entry.queued_bytes =
      sizeof entry + entry.target_layout.bytes() + entry.source_layout.bytes() + entry.sink_layout.bytes();
  peer.state().messages.queued_bytes += entry.queued_bytes;
  queued_bytes_ += entry.queued_bytes;
  return entry;
}

void TrackedOperations::note_sent(TrackedOperation& entry) noexcept {
  entry.peer->state().messages.queued_bytes -= entry.queued_bytes;
  queued_bytes_ -= entry.queued_bytes;
  entry.queued_bytes = 0;
}

TrackedOperation* TrackedOperations::find(Peer const& peer, std::uint64_t operation_id) noexcept {
  TrackedOperation* const entry = pool_.find(operation_id);
  return entry != nullptr && entry->peer == &peer ? entry : nullptr;
}

bool TrackedOperations::is_finished(TrackedOperation const& entry, std::uint64_t executed) noexcept {
  if (!entry.sent_completely() || entry.sends_in_flight != 0) return false;
  if (failed(entry.status) && entry.status == Status::transport) return true;
  if (entry.reported) return executed >= entry.last_sequence;
  if (entry.operation.expects_data()) return entry.returned == entry.operation.total;
  // A query is finished by its reply: the acknowledgement may come earlier with another reply.
  bool const is_query =
      entry.is_a(wire::RequestKind::find_segment) || entry.is_a(wire::RequestKind::lock_request);
  if (is_query || entry.executed) return entry.executed || failed(entry.status);
  return !entry.operation.completes_when_executed || executed >= entry.last_sequence;
}

/// Whether further messages of the failed operation may fail. Their failures name the operation, and must not
/// be reported once more.
bool TrackedOperations::must_await_failures(TrackedOperation const& entry) const noexcept {
  if (!failed(entry.status) || entry.status == Status::transport || entry.executed) return false;
  if (entry.first_sequence == entry.last_sequence) return false;
  if (entry.operation.expects_data() || entry.list != &entry.peer->state().messages.unfinished) return false;
  return entry.last_sequence > entry.peer->state().messages.executed.load(std::memory_order_relaxed);
}

/// Reports the failure, and removes the operation once all its messages are executed.
void TrackedOperations::report_once(TrackedOperation& entry) noexcept {
  if (entry.reported) {
    entry.list->remove(entry);
    return pool_.release(entry);
  }
  entry.reported = true;
  Completion* const completion = std::exchange(entry.operation.completion, nullptr);
  if (completion == nullptr)
    entry.peer->state().messages.errors.keep(entry.operation.header.context, late_error_of(entry));
  else
    completion->done(*completion, entry.status, entry.operation.total);
}

void TrackedOperations::finish(TrackedOperation& entry) noexcept {
  Peer& peer = *entry.peer;
  if (entry.reported || must_await_failures(entry)) return report_once(entry);
  if (may_be_lost(entry) && !note_untracked(entry)) {
    entry.operation.completes_when_executed = true;  // it is called again then, and needs no memory
    return;
  }
  entry.list->remove(entry);
  if (entry.is_a(wire::RequestKind::find_segment)) {
    NetworkKeys* const keys = peer.state().keys_if_any();
    if (keys == nullptr || keys->pending_query_id != entry.operation_id) {
      entry.live = false;  // the caller reads the reply and releases it
      return;
    }
    keys->pending_query_id = 0;
    return pool_.release(entry);
  }
  Completion* const completion = entry.operation.completion;
  Status const status = entry.status;
  std::size_t const bytes = entry.operation.total;
  std::uint32_t const context = entry.operation.header.context;
  LateError const error = failed(status) ? late_error_of(entry) : LateError{};
  pool_.release(entry);
  if (completion != nullptr) {
    completion->done(*completion, status, bytes);
  } else if (failed(status)) {
    peer.state().messages.errors.keep(context, error);
  }
}

void TrackedOperations::finish_detached() {
  for (TrackedOperation* entry = detached_.front(); entry != nullptr;) {
    TrackedOperation* const next = entry->next;
    if (is_finished(*entry, 0)) finish(*entry);
    entry = next;
  }
}

bool TrackedOperations::has_detached(Peer const& peer) const noexcept {
  for (TrackedOperation const* entry = detached_.front(); entry != nullptr; entry = entry->next) {
    if (entry->peer == &peer) return true;
  }
  return false;
}

void TrackedOperations::fail(Peer& peer) noexcept {
  OriginStream& stream = peer.state().messages;
  for (TrackedOperation* entry = stream.unsent; entry != nullptr; entry = entry->next) note_sent(*entry);
  stream.unsent = nullptr;
  for (TrackedOperation* entry = stream.unfinished.front(); entry != nullptr; entry = entry->next) {
    entry->status = Status::transport;
    entry->next_sequence = entry->last_sequence + 1;
  }
  for (TrackedOperation* entry = detached_.front(); entry != nullptr; entry = entry->next) {
    if (entry->peer == &peer) entry->status = Status::transport;
  }
}

}  // namespace mpixrma::engine
