#include "engine/proto/reply_handler.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "engine/net/batch.hpp"
#include "engine/origin/peer_state.hpp"

namespace mpixrma::engine {

void ReplyHandler::on_message(wire::MessageClass kind, std::span<std::byte const> bytes,
                              std::span<std::byte const> payload) noexcept {
  bool const is_batch = kind == wire::MessageClass::reply_batch;
  try {
    is_batch ? handle_batch(bytes, payload) : handle(bytes, payload);
  } catch (std::bad_alloc const&) {
    drops_.record_drop("no memory to take it");
    wire::ReplyHeader header{};
    bool const sound = !is_batch && wire::check(bytes, payload, &header) == nullptr;
    std::uint64_t const session = is_batch ? wire::batch_session_of(bytes) : sound ? header.session : 0;
    if (Peer const* const peer = parts_.sessions.peer_with(session); peer != nullptr)
      parts_.connections.fail(peer->process(), "no memory for its replies");
  }
}

void ReplyHandler::handle(std::span<std::byte const> bytes, std::span<std::byte const> payload) {
  wire::ReplyHeader header{};
  if (char const* const fault = wire::check(bytes, payload, &header)) return drops_.record_drop(fault);
  Peer* const peer = parts_.sessions.peer_with(header.session);
  if (peer == nullptr) return drops_.record_drop("it does not belong to a session");
  if (peer->state().messages.broken) return;
  if (char const* const fault = handle_reply(*peer, header, payload)) drops_.record_drop(fault);
  parts_.streams.progress(*peer);
}

/// Each reply is handled as if it had come alone; completed operations are finished after all replies.
void ReplyHandler::handle_batch(std::span<std::byte const> bytes, std::span<std::byte const> records) {
  wire::BatchHeader batch{};
  if (char const* const fault = wire::check(bytes, &batch)) return drops_.record_drop(fault);
  Peer* const peer = parts_.sessions.peer_with(batch.session);
  if (peer == nullptr) return drops_.record_drop("it does not belong to a session");
  if (peer->state().messages.broken) return;
  wire::BatchReader<wire::ReplyHeader> reader(batch.session, records);
  wire::ReplyHeader received{};
  std::span<std::byte const> payload;
  while (reader.next(&received, &payload)) {
    wire::ReplyHeader header{};
    char const* fault = wire::check(std::as_bytes(std::span(&received, 1)), payload, &header);
    if (fault == nullptr) fault = handle_reply(*peer, header, payload);
    if (fault != nullptr) drops_.record_drop(fault);
  }
  if (reader.is_malformed()) drops_.record_drop("a truncated batch");
  parts_.streams.progress(*peer);
}

/// Returns the error of the reply, or nullptr.
char const* ReplyHandler::handle_reply(Peer& peer, wire::ReplyHeader const& header,
                                       std::span<std::byte const> payload) {
  OriginStream& stream = peer.state().messages;
  bool const are_sent =
      header.executed <= stream.newest_sent || header.executed <= parts_.streams.newest_out_of_band(peer);
  auto const limit = std::min<std::uint64_t>(header.credit, credit_bytes_);
  if (!are_sent || !stream.credit.update(header.processed_cost, limit))
    return "acknowledges messages that were not sent";
  parts_.locks.clock().raise(header.lock_clock);
  if (header.executed > stream.executed.load(std::memory_order_relaxed)) {
    stream.executed.store(header.executed, std::memory_order_release);
  }
  if (NetworkKeys* const keys = peer.state().keys_if_any()) keys->see_version(header.segments_version);
  switch (header.kind) {
    case wire::ReplyKind::data:
    case wire::ReplyKind::segment:
      if (TrackedOperation* const entry = parts_.tracked.find(peer, header.operation_id); entry != nullptr) {
        handle_data(*entry, header, payload);
      } else {
        return "data for an operation that does not exist";
      }
      break;
    case wire::ReplyKind::failed: handle_failure(peer, header, payload); break;
    case wire::ReplyKind::revoke: parts_.revocations.note(peer, header.operation_id, header.offset); break;
    case wire::ReplyKind::stripes_granted:
    case wire::ReplyKind::busy: handle_grant(peer, header); break;
    case wire::ReplyKind::executed:
      if (TrackedOperation* const entry = parts_.tracked.find(peer, header.operation_id); entry != nullptr)
        entry->executed = entry->sent_completely();
      break;
  }
  return nullptr;
}

void ReplyHandler::handle_data(TrackedOperation& entry, wire::ReplyHeader const& header,
                               std::span<std::byte const> payload) {
  if (entry.is_a(wire::RequestKind::find_segment)) return handle_segment_reply(entry, payload);
  MessageOperation const& operation = entry.operation;
  if (!operation.expects_data() || header.offset > operation.total ||
      header.bytes > operation.total - header.offset || header.bytes > operation.total - entry.returned)
    return drops_.record_drop("data for an operation that requested none");
  unpack(operation.sink, operation.sink_layout, header.offset, payload.data(), payload.size());
  entry.returned += payload.size();
}

void ReplyHandler::handle_segment_reply(TrackedOperation& entry, std::span<std::byte const> payload) {
  entry.executed = true;
  wire::SegmentReply reply{};
  if (payload.size() >= sizeof reply) std::memcpy(&reply, payload.data(), sizeof reply);
  bool const sound = payload.size() >= sizeof reply && reply.key_bytes == payload.size() - sizeof reply &&
                     reply.base + reply.length >= reply.base;
  if (!sound) return log_.write(LogLevel::error, "dropped a malformed reply about a segment");
  entry.segment = reply;
  if (learn_) learn_(*entry.peer, reply, payload.subspan(sizeof reply));
}

/// Handles `stripes_granted`: the target holds the stripes of an atomic operation; and `busy`: the target
/// could not acquire them at once, so that this process releases its own stripes until the next attempt.
void ReplyHandler::handle_grant(Peer& peer, wire::ReplyHeader const& header) {
  TrackedOperation* const entry = parts_.tracked.find(peer, header.operation_id);
  bool const awaited = entry != nullptr && entry->operation.completes_when_executed;
  bool const granted = header.kind == wire::ReplyKind::stripes_granted;
  if (!awaited || (granted && entry->lock != LockState::requested)) {
    drops_.record_drop("an unsolicited reply about stripes");
  } else if (granted) {
    entry->lock = LockState::granted;
  } else {
    parts_.streams.note_busy(*entry);
  }
}

/// `offset` of a failure is the number of bytes that no reply will contain.
void ReplyHandler::handle_failure(Peer& peer, wire::ReplyHeader const& header,
                                  std::span<std::byte const> payload) {
  auto const status = static_cast<Status>(header.status);
  if (header.operation_id != 0) {
    if (TrackedOperation* const entry = parts_.tracked.find(peer, header.operation_id); entry != nullptr) {
      if (!failed(entry->status)) entry->status = status;
      entry->returned = std::min(entry->operation.total, entry->returned + header.offset);
      return;
    }
    // The operation was already complete for its origin, so later completion calls report the error.
  }
  peer.state().messages.errors.keep(header.context, wire::late_error(status, payload));
}

}  // namespace mpixrma::engine
