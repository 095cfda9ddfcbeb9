#include "engine/proto/origin_streams.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "engine/origin/peer_state.hpp"
#include "engine/sync/footprint.hpp"

namespace mpixrma::engine {

namespace {

// A contiguous origin buffer of at least this size is passed to UCX instead of being copied into a message.
// Data to be encrypted is always copied.
constexpr std::size_t borrow_bytes = 8 * 1024;
constexpr std::size_t max_described_runs = 1024;

}  // namespace

Issued OriginStreams::issue(Peer& peer, RmaOp const& operation, UniqueStripeLock stripe_lock) {
  MessageOperation message = message_of(operation);
  message.header.context = operation.context;
  message.header.notify_exposure = static_cast<std::uint64_t>(operation.exposed.notify);
  message.completes_when_executed = has(operation.flags, OpFlags::remote_completion);
  message.completion = operation.completion;
  message.notify = operation.notify;
  message.target_stripes = footprint_of(operation).target;
  return start_message(peer, message, operation.flags, std::move(stripe_lock));
}

Issued OriginStreams::start_message(Peer& peer, MessageOperation& operation, OpFlags op_flags,
                                    UniqueStripeLock stripe_lock) {
  OriginStream& stream = peer.state().messages;
  if (Status const status = sessions_.ensure_session(peer); failed(status)) return Issued::ended(status);
  bool const atomic = has(op_flags, OpFlags::atomic);
  bool const self = peer.process() == credentials_.process;
  wire::RequestHeader& header = operation.header;
  if (atomic) {
    operation.completes_when_executed = operation.holds_stripes = true;
    if (!operation.expects_data()) header.flags |= wire::flag_separate_reply;
    // To avoid deadlock, a holder of stripes of one process waits only for stripes of processes with a higher
    // number.
    if (!self && peer.process() < credentials_.process) header.flags |= wire::flag_no_wait;
  }
  if (has(op_flags, OpFlags::target_registered)) header.flags |= wire::flag_registered;
  // Not on this process itself, whose atomic operations wait for the acknowledgement of earlier messages.
  operation.delayed_ack = has(op_flags, OpFlags::delayed_ack) && !self;
  if (operation.delayed_ack) header.flags |= wire::flag_delayed_ack;
  header.notify = operation.notify;

  if (!atomic && may_be_untracked(peer, operation)) {
    if (has(op_flags, OpFlags::element_atomic)) header.flags |= element_flags(header.kind, op_flags);
    stream.untracked.note(header.context, peer.newest() + 1);  // may lack memory: before a position is taken
    std::uint64_t const sequence = take_positions(peer, operation, op_flags, 1);
    auto const fragment = fragment_or_fail(peer, operation, 0);
    if (!fragment) return {Status::transport, true, sequence};
    return {send_fragment(peer, operation, *fragment, sequence, nullptr), true, sequence};
  }
  // Counts on the normalised layout, from which the fragments are made.
  TrackedOperation& entry = tracked_.remember(peer, operation);
  std::uint64_t const fragments =
      count_fragments(entry.operation.target, operation.total, limits_for(operation));
  bool const locks_first = atomic && !self && fragments > 1;
  if (atomic) {
    entry.operation.excluded_from_batch = self || fragments > 1;
    entry.operation.header.flags |= self || locks_first ? wire::flag_held : wire::flag_atomic;
  } else if (has(op_flags, OpFlags::element_atomic)) {
    entry.operation.header.flags |= element_flags(header.kind, op_flags);
  }
  if (locks_first) entry.lock = LockState::needed;
  entry.stripe_lock = std::move(stripe_lock);
  std::uint64_t const messages = fragments + (locks_first ? 1 : 0);
  entry.last_sequence = take_positions(peer, entry.operation, op_flags, messages);
  entry.first_sequence = entry.next_sequence = entry.last_sequence - messages + 1;
  stream.unfinished.push_back(entry);
  if (stream.unsent == nullptr) stream.unsent = &entry;
  std::uint64_t const last = entry.last_sequence;
  std::uint64_t const operation_id = entry.operation_id;
  advance(peer);
  // While queued, the operation must not hold stripes that the target may need to continue.
  if (tracked_.find(operation_id) != nullptr && !entry.started()) entry.stripe_lock.release();
  return {Status::ok, false, last};
}

/// Reserves the next `messages` positions of the stream, ordered after the operation's predecessors; returns
/// the last one.
std::uint64_t OriginStreams::take_positions(Peer& peer, MessageOperation& operation, OpFlags op_flags,
                                            std::uint64_t messages) {
  OriginStream& stream = peer.state().messages;
  bool const ordered = has(op_flags, OpFlags::ordered);
  // Ordering among messages costs nothing, so operations with overlap_ordered follow all ordered operations.
  bool const in_order = ordered || has(op_flags, OpFlags::overlap_ordered);
  operation.header.after =
      in_order ? std::max(stream.followed_by_all, stream.ordered) : stream.followed_by_all;
  std::uint64_t const last = peer.reserve(messages);
  if (in_order) stream.ordered = last;
  if (operation.delayed_ack) {
    for (std::uint64_t position = last - messages + 1; position <= last; ++position)
      stream.delayed.note(position);
  }
  if (ordered && peer.state().shares_memory) peer.defer_direct_access(last);
  return last;
}

/// Whether the operation needs no tracking once its only message is passed to UCX.
bool OriginStreams::may_be_untracked(Peer& peer, MessageOperation const& operation) const {
  OriginStream const& stream = peer.state().messages;
  bool const awaited =
      operation.expects_data() || (operation.completion != nullptr && operation.completes_when_executed);
  if (awaited || operation.total >= borrow_bytes || stream.unsent != nullptr) return false;
  return stream.may_send() && count_fragments(operation.target, operation.total, limits_for(operation)) == 1;
}

FragmentLimits OriginStreams::limits_for(MessageOperation const& operation) const noexcept {
  std::size_t const bytes =
      operation.source2 != nullptr ? settings_.fragment_bytes / 2 : settings_.fragment_bytes;
  return {bytes, max_described_runs, operation.element_bytes()};
}

bool OriginStreams::is_full(Peer& peer) const noexcept {
  OriginStream const& stream = peer.state().messages;
  if (stream.broken) return false;
  return stream.queued_bytes >= settings_.target_bytes ||
         tracked_.queued_bytes() + sender_.unsent_bytes() >= settings_.process_bytes;
}

void OriginStreams::advance(Peer& peer) {
  OriginStream& stream = peer.state().messages;
  while (stream.unsent != nullptr && !stream.broken) {
    TrackedOperation& entry = *stream.unsent;
    if (entry.lock == LockState::requested) return;
    while (!entry.sent_completely()) {
      if (!stream.may_send() || !may_start(entry)) return;
      if (!entry.started() && !entry.stripe_lock.acquire()) return note_stalled(peer);
      if (entry.lock == LockState::needed) {
        entry.lock = LockState::requested;
        ++entry.next_sequence;
        send_lock(entry);
        return;
      }
      MessageOperation const& operation = entry.operation;
      auto const fragment = fragment_or_fail(peer, operation, entry.sent);
      if (!fragment) return;
      // Before sending, because UCX may complete at once and call back.
      std::uint64_t const sequence = entry.next_sequence++;
      entry.sent += fragment->bytes;
      // Unsent operations fail when the lost connection is reported.
      if (failed(send_fragment(peer, operation, *fragment, sequence, &entry))) return;
    }
    stream.unsent = entry.next;
    tracked_.note_sent(entry);
    if (entry.is_a(wire::RequestKind::lock_request)) {
      // Completion calls do not wait for locks.
      stream.unfinished.remove(entry);
      tracked_.add_detached(entry);
    } else if (TrackedOperations::is_finished(entry, stream.executed.load(std::memory_order_relaxed))) {
      tracked_.finish(entry);
    }
  }
}

/// Operations in the batch may hold the stripes.
void OriginStreams::note_stalled(Peer& peer) {
  sender_.send_batch(peer);
  if (std::find(stalled_.begin(), stalled_.end(), &peer) != stalled_.end()) return;
  try {
    stalled_.push_back(&peer);
  } catch (std::bad_alloc const&) {
    sender_.fail_connection(peer);
  }
}

/// An atomic operation of this process on itself holds the stripes of both sides from its first message on,
/// and earlier messages may wait for these stripes. So its predecessors must be executed first. If it takes
/// several messages, it must follow all earlier ones, because those that wait for the stripes occupy credit.
bool OriginStreams::may_start(TrackedOperation const& entry) const noexcept {
  bool const on_itself = entry.peer->process() == credentials_.process;
  if (entry.started() || !on_itself || (entry.operation.header.flags & wire::flag_held) == 0) return true;
  bool const several = entry.first_sequence != entry.last_sequence;
  std::uint64_t const before = several ? entry.first_sequence - 1 : entry.operation.header.after;
  return entry.peer->state().messages.executed.load(std::memory_order_relaxed) >= before;
}

std::optional<Fragment> OriginStreams::fragment_or_fail(Peer& peer, MessageOperation const& operation,
                                                        std::size_t offset) {
  try {
    return fragment_at(operation.target, operation.total, offset, limits_for(operation));
  } catch (std::bad_alloc const&) {
    sender_.fail_connection(peer);
    return std::nullopt;
  }
}

Status OriginStreams::send_fragment(Peer& peer, MessageOperation const& operation, Fragment const& fragment,
                                    std::uint64_t sequence, TrackedOperation* entry) {
  try {
    return try_send_fragment(peer, operation, fragment, sequence, entry);
  } catch (std::bad_alloc const&) {
    sender_.fail_connection(peer);
    return Status::transport;
  }
}

Status OriginStreams::try_send_fragment(Peer& peer, MessageOperation const& operation,
                                        Fragment const& fragment, std::uint64_t sequence,
                                        TrackedOperation* entry) {
  Layout const described = described_by(operation, fragment);
  wire::RequestHeader header = header_of(operation, fragment, described, RunForm::shortest);
  header.sequence = sequence;
  header.after = std::min(header.after, sequence - 1);
  std::size_t const payload_bytes = payload_bytes_of(operation, header);
  if (operation.delayed_ack) sender_.note_series_end(peer);
  if (sender_.goes_in_batch(peer, operation, payload_bytes)) {
    if (operation.delayed_ack && delay_batch(peer)) header.flags |= wire::flag_batch_delayed_ack;
    write_payload(sender_.append(peer, header, payload_bytes), operation, header, described);
    if (operation.holds_stripes) sender_.limit_wait(peer);
    if (operation.delayed_ack) sender_.send_batch(peer);
    return Status::ok;
  }
  bool const only_source = operation.has_data() && payload_bytes == fragment.bytes;
  bool const borrow = entry != nullptr && only_source && fragment.bytes >= borrow_bytes &&
                      operation.source_layout.is_contiguous() && !sender_.is_sealed(peer);
  Message& message = sender_.message(borrow ? 0 : payload_bytes);
  if (borrow) {
    message.borrow(operation.source + fragment.offset, fragment.bytes);
    ++entry->sends_in_flight;
    entry->streams = this;
    message.sent_argument = entry;
    message.sent = [](void* argument) noexcept {
      auto& sent = *static_cast<TrackedOperation*>(argument);
      if (--sent.sends_in_flight == 0) sent.streams->note_due(*sent.peer);
    };
  } else if (payload_bytes != 0) {
    write_payload(message.payload(payload_bytes), operation, header, described);
  }
  return sender_.send(peer, header, message, payload_bytes);
}

/// Delays the acknowledgement of the batch, unless an operation waits for an acknowledgement. A waiting
/// thread requests it.
bool OriginStreams::delay_batch(Peer& peer) noexcept {
  OriginStream& stream = peer.state().messages;
  if (stream.unfinished.front() != nullptr) return false;
  stream.delayed.note_batch();
  return true;
}

/// Requests the stripes of the operation from the target, as the first message of the operation.
void OriginStreams::send_lock(TrackedOperation& entry) {
  wire::RequestHeader header = entry.operation.header;
  header.kind = wire::RequestKind::stripe_lock;
  header.flags &= wire::flag_no_wait;
  if (entry.operation.target_stripes.exclusive == 0) header.flags |= wire::flag_shared;
  header.stripes = entry.operation.target_stripes.exclusive | entry.operation.target_stripes.shared;
  header.sequence = entry.first_sequence;
  // After all earlier messages of this stream: those that wait for the stripes would occupy credit.
  header.after = header.sequence - 1;
  header.notify = header.exposure = header.notify_exposure = 0;
  try {
    (void)sender_.send(*entry.peer, header, sender_.message(), 0);
  } catch (std::bad_alloc const&) {
    sender_.fail_connection(*entry.peer);
  }
}

TrackedOperation& OriginStreams::queue_query(Peer& peer, KeyQuery const& query) {
  MessageOperation operation;
  operation.header = wire::begin_header<wire::RequestHeader>(wire::RequestKind::find_segment);
  operation.header.address = query.address;
  operation.header.exposure = static_cast<std::uint64_t>(query.exposure);
  return queue(peer, operation);
}

TrackedOperation* OriginStreams::find_segment(Peer& peer, RemoteAddress address) {
  if (!sessions_.connect(peer)) return nullptr;
  TrackedOperation& entry = queue_query(peer, {address, ExposureId::none});
  advance(peer);
  return &entry;
}

void OriginStreams::query_key(Peer& peer, KeyQuery const& query) {
  OriginStream const& stream = peer.state().messages;
  // Queued behind the lock, the query would delay replies to the peer.
  bool const at_once = stream.unsent == nullptr && stream.may_send();
  if ((stream.may_wait_for_lock() && !at_once) || failed(sessions_.ensure_session(peer))) return;
  NetworkKeys& state = peer.state().make_keys();
  state.last_query = query;
  // Before sending, because a process replies to itself within the send.
  state.pending_query_id = queue_query(peer, query).operation_id;
  advance(peer);
}

TrackedOperation& OriginStreams::queue(Peer& peer, MessageOperation const& operation) {
  TrackedOperation& entry = tracked_.remember(peer, operation);
  entry.first_sequence = entry.next_sequence = entry.last_sequence = peer.reserve(1);
  OriginStream& stream = peer.state().messages;
  stream.unfinished.push_back(entry);
  if (stream.unsent == nullptr) stream.unsent = &entry;
  return entry;
}

}  // namespace mpixrma::engine
