#include "engine/proto/message.hpp"

#include <algorithm>
#include <utility>

#include "engine/base/shared_memory.hpp"
#include "engine/origin/peer_state.hpp"
#include "engine/sync/footprint.hpp"

namespace mpixrma::engine {

namespace {

// Maximum number of messages in flight to a peer; further operations are queued here instead of in UCX.
constexpr std::uint64_t max_in_flight = 1024;
// From this size on the origin buffer is passed to UCX instead of being copied into a message.
constexpr std::size_t borrow_bytes = 8 * 1024;
constexpr std::size_t max_described_segments = 1024;

/// Returns the flags for element-wise atomicity.
std::uint16_t element_flags(wire::RequestHeader const& header, Guarantee guarantees) noexcept {
  if (header.kind != wire::RequestKind::update) return wire::flag_atomic;
  unsigned const arrays = has(guarantees, Guarantee::keeps_arrays) ? wire::flag_arrays : 0;
  return static_cast<std::uint16_t>(wire::flag_elements | arrays);
}

}  // namespace

Status MessageProtocol::reach(Peer& peer) {
  if (!connect(peer)) return descriptors_run_short() ? Status::no_descriptors : Status::unreachable;
  return peer.state().messages.broken ? Status::unreachable : Status::ok;
}

Issued MessageProtocol::issue(Peer& peer, RmaOp const& operation, StripeHold hold) {
  MessageOperation message = message_of(operation);
  message.header.context = operation.context;
  message.header.notify_exposure = static_cast<std::uint64_t>(operation.exposed.notify);
  message.until_executed = has(operation.guarantees, Guarantee::remote_completion);
  message.completion = operation.completion;
  message.notify = operation.notify;
  message.target_stripes = footprint_of(operation).target;
  return start_message(peer, message, operation.guarantees, std::move(hold));
}

Issued MessageProtocol::start_message(Peer& peer, MessageOperation& operation, Guarantee guarantees,
                                      StripeHold hold) {
  MessageStream& stream = peer.state().messages;
  if (Status const status = reach(peer); failed(status)) return {status, true, 0};
  bool const atomic = has(guarantees, Guarantee::atomic);
  bool const self = peer.process() == credentials_.process;
  wire::RequestHeader& header = operation.header;
  if (atomic) {
    operation.until_executed = operation.travels_alone = true;
    if (!operation.expects_data()) header.flags |= wire::flag_separate_reply;
    // To avoid deadlock, a holder of stripes of one process waits only for stripes of processes with a higher
    // identity.
    if (!self && peer.process() < credentials_.process) header.flags |= wire::flag_no_wait;
  }
  if (has(guarantees, Guarantee::target_registered)) header.flags |= wire::flag_registered;
  header.notify = operation.notify;

  if (!atomic && may_be_sent_at_once(peer, operation)) {
    if (has(guarantees, Guarantee::element_atomic)) header.flags |= element_flags(header, guarantees);
    std::uint64_t const sequence = take_positions(peer, operation, guarantees, 1);
    Fragment const fragment = fragment_at(operation.target, operation.total, 0, limits_for(operation));
    stream.forgotten.note(header.context, sequence);
    return {send_fragment(peer, operation, fragment, sequence, nullptr), true, sequence};
  }
  // Counted on the layout that the fragments are split from: the normalised one.
  Outstanding& entry = remember(peer, operation);
  std::uint64_t const fragments =
      count_fragments(entry.operation.target, operation.total, limits_for(operation));
  bool const locks_first = atomic && !self && fragments > 1;
  if (atomic) {
    entry.operation.header.flags |= self || locks_first ? wire::flag_held : wire::flag_atomic;
  } else if (has(guarantees, Guarantee::element_atomic)) {
    entry.operation.header.flags |= element_flags(header, guarantees);
  }
  if (locks_first) entry.lock = LockState::wanted;
  entry.hold = std::move(hold);
  std::uint64_t const messages = fragments + (locks_first ? 1 : 0);
  entry.last_sequence = take_positions(peer, entry.operation, guarantees, messages);
  entry.first_sequence = entry.next_sequence = entry.last_sequence - messages + 1;
  stream.unfinished.push_back(entry);
  if (stream.unsent == nullptr) stream.unsent = &entry;
  std::uint64_t const last = entry.last_sequence;
  std::uint64_t const token = entry.token;
  advance(peer);
  // While queued, it must not hold stripes that the target may need to continue.
  if (pool_.find(token) != nullptr && !entry.started()) entry.hold.release();
  return {Status::ok, false, last};
}

/// Reserves the next `messages` positions of the stream, ordered after the operation's predecessors; returns
/// the last one.
std::uint64_t MessageProtocol::take_positions(Peer& peer, MessageOperation& operation, Guarantee guarantees,
                                              std::uint64_t messages) {
  MessageStream& stream = peer.state().messages;
  bool const ordered = has(guarantees, Guarantee::ordered);
  // Ordering among messages costs nothing, so operations with overlap_ordered follow all ordered operations.
  bool const in_order = ordered || has(guarantees, Guarantee::overlap_ordered);
  operation.header.after = in_order ? std::max(stream.fence, stream.ordered) : stream.fence;
  std::uint64_t const last = peer.reserve(messages);
  if (in_order) stream.ordered = last;
  if (ordered && peer.state().same_host) peer.hold_stores(last);
  return last;
}

/// Whether the operation needs no tracking once its only message is passed to UCX.
bool MessageProtocol::may_be_sent_at_once(Peer& peer, MessageOperation const& operation) const {
  MessageStream const& stream = peer.state().messages;
  bool const awaited =
      operation.expects_data() || (operation.completion != nullptr && operation.until_executed);
  if (awaited || operation.total >= borrow_bytes || stream.unsent != nullptr) return false;
  return has_credit(peer) && count_fragments(operation.target, operation.total, limits_for(operation)) == 1;
}

/// Copies the parts of the operation that must outlive the caller's arrays.
Outstanding& MessageProtocol::remember(Peer& peer, MessageOperation const& operation) {
  Outstanding& entry = pool_.take();
  entry.operation = operation;
  entry.target_layout = OwnedLayout(operation.target);
  entry.source_layout = OwnedLayout(operation.source_layout);
  entry.sink_layout = OwnedLayout(operation.sink_layout);
  entry.operation.target = entry.target_layout.view();
  entry.operation.source_layout = entry.source_layout.view();
  entry.operation.sink_layout = entry.sink_layout.view();
  entry.operation.header.token = entry.token;
  entry.protocol = this;
  entry.peer = &peer;
  entry.queued_bytes =
      sizeof entry + entry.target_layout.bytes() + entry.source_layout.bytes() + entry.sink_layout.bytes();
  peer.state().messages.queued_bytes += entry.queued_bytes;
  queued_bytes_ += entry.queued_bytes;
  return entry;
}

FragmentLimits MessageProtocol::limits_for(MessageOperation const& operation) const noexcept {
  std::size_t const bytes =
      operation.source2 != nullptr ? settings_.fragment_bytes / 2 : settings_.fragment_bytes;
  return {bytes, max_described_segments, operation.element_bytes()};
}

bool MessageProtocol::has_credit(Peer& peer) noexcept {
  MessageStream const& stream = peer.state().messages;
  if (stream.suspended) return false;
  return stream.newest_sent - std::min(stream.newest_sent, stream.executed.load(std::memory_order_relaxed)) <
             max_in_flight &&
         stream.credit.permits_another();
}

bool MessageProtocol::is_full(Peer& peer) const noexcept {
  MessageStream const& stream = peer.state().messages;
  if (stream.broken) return false;
  return stream.queued_bytes >= settings_.target_bytes ||
         queued_bytes_ + transport_.unsent_bytes() >= settings_.process_bytes;
}

void MessageProtocol::advance(Peer& peer) {
  MessageStream& stream = peer.state().messages;
  while (stream.unsent != nullptr && !stream.broken) {
    Outstanding& entry = *stream.unsent;
    if (entry.lock == LockState::asked) return;
    while (!entry.sent_completely()) {
      if (!has_credit(peer) || !may_start(entry)) return;
      if (!entry.started() && !entry.hold.acquire()) {
        stalled_.push_back(&peer);
        return;
      }
      if (entry.lock == LockState::wanted) {
        entry.lock = LockState::asked;
        ++entry.next_sequence;
        send_lock(entry);
        return;
      }
      MessageOperation const& operation = entry.operation;
      Fragment const fragment =
          fragment_at(operation.target, operation.total, entry.sent, limits_for(operation));
      // Before sending, because UCX may complete at once and call back.
      std::uint64_t const sequence = entry.next_sequence++;
      entry.sent += fragment.bytes;
      // Unsent operations fail when the lost connection is reported.
      if (failed(send_fragment(peer, operation, fragment, sequence, &entry))) return;
    }
    stream.unsent = entry.next;
    note_sent(entry);
    if (entry.is_a(wire::RequestKind::acquire)) {
      // Completion calls do not wait for locks.
      stream.unfinished.remove(entry);
      acquiring_.push_back(entry);
    } else if (is_finished(entry, stream.executed.load(std::memory_order_relaxed))) {
      finish(entry);
    }
  }
}

/// An operation of this process on itself holds the stripes of both sides from its first message on, and
/// earlier messages may wait for these stripes. So its predecessors must be executed first, and for an
/// operation of several messages all earlier ones, because they would also exhaust the credit.
bool MessageProtocol::may_start(Outstanding const& entry) const noexcept {
  bool const on_itself = entry.peer->process() == credentials_.process;
  if (entry.started() || !on_itself || (entry.operation.header.flags & wire::flag_held) == 0) return true;
  bool const several = entry.first_sequence != entry.last_sequence;
  std::uint64_t const before = several ? entry.first_sequence - 1 : entry.operation.header.after;
  return entry.peer->state().messages.executed.load(std::memory_order_relaxed) >= before;
}

/// Afterwards the operation waits for answers only.
void MessageProtocol::note_sent(Outstanding& entry) noexcept {
  entry.peer->state().messages.queued_bytes -= entry.queued_bytes;
  queued_bytes_ -= entry.queued_bytes;
  entry.queued_bytes = 0;
}

Status MessageProtocol::send(Peer& peer, wire::RequestHeader& header, Message& message,
                             std::size_t payload_bytes) {
  MessageStream& stream = peer.state().messages;
  // Flush the batch first to preserve issue order.
  if (stream.is_joining()) send_joined(peer);
  stream.newest_sent = std::max(stream.newest_sent, header.sequence);
  if (header.sequence != 0) {
    stream.sent_quiet = (header.flags & wire::flag_quiet) != 0;
    header.session = stream.session;
    charge(peer, header, payload_bytes);
  }
  message.set_header(header);
  ++messages_;
  stream.last_use = connections_.note_use();
  return transport_.send(stream.endpoint, wire::MessageClass::request, message);
}

/// Charges the cost of the request to the credit.
void MessageProtocol::charge(Peer& peer, wire::RequestHeader const& header,
                             std::size_t payload_bytes) noexcept {
  peer.state().messages.credit.charge(wire::cost_of(header, payload_bytes));
  peer.state().traffic.add_message();
}

Status MessageProtocol::send_fragment(Peer& peer, MessageOperation const& operation, Fragment const& fragment,
                                      std::uint64_t sequence, Outstanding* entry) {
  Layout const described = described_by(operation, fragment);
  wire::RequestHeader header = header_of(operation, fragment, described);
  header.sequence = sequence;
  header.after = std::min(header.after, sequence - 1);
  std::size_t const payload_bytes = payload_bytes_of(operation, fragment, described);
  if (joins(peer, operation, payload_bytes)) {
    write_payload(join(peer, header, payload_bytes), operation, fragment, described);
    return Status::ok;
  }
  Message& message = transport_.message();
  bool const only_source = operation.has_data() && payload_bytes == fragment.bytes;
  bool const borrow = entry != nullptr && only_source && fragment.bytes >= borrow_bytes &&
                      operation.source_layout.is_contiguous() &&
                      !transport_.is_sealed(peer.state().messages.endpoint);
  if (borrow) {
    message.borrow(operation.source + fragment.offset, fragment.bytes);
    ++entry->sends_in_flight;
    message.sent_argument = entry;
    message.sent = [](void* argument) noexcept {
      auto& sent = *static_cast<Outstanding*>(argument);
      if (--sent.sends_in_flight == 0) sent.protocol->due_.push_back(sent.peer);
    };
  } else if (payload_bytes != 0) {
    write_payload(message.payload(payload_bytes), operation, fragment, described);
  }
  return send(peer, header, message, payload_bytes);
}

/// Requests the stripes of the operation from the target. It is the first message of the operation.
void MessageProtocol::send_lock(Outstanding& entry) {
  wire::RequestHeader header = entry.operation.header;
  header.kind = wire::RequestKind::lock;
  header.flags &= wire::flag_no_wait;
  if (entry.operation.target_stripes.exclusive == 0) header.flags |= wire::flag_shared;
  header.stripes = entry.operation.target_stripes.exclusive | entry.operation.target_stripes.shared;
  header.sequence = entry.first_sequence;
  // Wait for all earlier messages of this stream: one that waits for the stripes would exhaust the credit.
  header.after = header.sequence - 1;
  header.notify = header.exposure = header.notify_exposure = 0;
  (void)send(*entry.peer, header, transport_.message(), 0);
}

Outstanding& MessageProtocol::queue_question(Peer& peer, KeyQuestion const& question) {
  MessageOperation operation;
  operation.header = wire::begin_header<wire::RequestHeader>(wire::RequestKind::find_segment);
  operation.header.address = question.address;
  operation.header.exposure = static_cast<std::uint64_t>(question.exposure);
  return queue(peer, operation);
}

Outstanding* MessageProtocol::find_segment(Peer& peer, RemoteAddress address) {
  if (!connect(peer)) return nullptr;
  Outstanding& entry = queue_question(peer, {address, ExposureId::none});
  advance(peer);
  return &entry;
}

void MessageProtocol::ask_for_key(Peer& peer, KeyQuestion const& question) {
  MessageStream const& stream = peer.state().messages;
  // Queued behind the lock, it would delay answers to the peer.
  bool const at_once = stream.unsent == nullptr && has_credit(peer);
  if ((stream.may_wait_for_lock() && !at_once) || failed(reach(peer))) return;
  NetworkState& state = peer.state().make_network();
  state.asked = question;
  // Before sending, because a process answers itself within the send.
  state.question = queue_question(peer, question).token;
  advance(peer);
}

/// Queues one message without data, behind those that are not sent yet.
Outstanding& MessageProtocol::queue(Peer& peer, MessageOperation const& operation) {
  Outstanding& entry = remember(peer, operation);
  entry.first_sequence = entry.next_sequence = entry.last_sequence = peer.reserve(1);
  MessageStream& stream = peer.state().messages;
  stream.unfinished.push_back(entry);
  if (stream.unsent == nullptr) stream.unsent = &entry;
  return entry;
}

void MessageProtocol::settle_due() {
  if (!revocations_.empty()) answer_revocations();
  if (!refused_.empty() || !stalled_.empty()) retry_refused();
  while (!due_.empty()) {
    Peer& peer = *due_.back();
    due_.pop_back();
    settle(peer);
  }
}

}  // namespace mpixrma::engine
