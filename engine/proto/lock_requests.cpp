#include "engine/proto/lock_requests.hpp"

#include "engine/origin/peer_state.hpp"

namespace mpixrma::engine {

namespace {

bool has_delayed_ack(MessageOperation const& operation) noexcept {
  return (operation.header.flags & wire::flag_delayed_ack) != 0;
}

}  // namespace

/// The acknowledgement may be delayed, because no caller waits for it: a grant arrives as a message of its
/// own, and the target executes a release before it grants the lock again.
MessageOperation LockRequests::lock_message(Peer const& peer, wire::RequestKind kind, LockId lock,
                                            std::uint32_t owner) const noexcept {
  MessageOperation operation;
  operation.header = wire::begin_header<wire::RequestHeader>(kind);
  operation.header.address = lock;
  operation.header.owner = owner;
  // After all earlier messages: the sender replaces this by the position before the request.
  operation.header.after = UINT64_MAX;
  // Not on this process itself, whose atomic operations wait for the acknowledgement of earlier messages.
  if (peer.process() != credentials_.process) operation.header.flags = wire::flag_delayed_ack;
  return operation;
}

Issued LockRequests::acquire(Peer& peer, LockRequest const& request) {
  if (Status const status = sessions_.ensure_session(peer); failed(status)) return Issued::ended(status);
  MessageOperation operation =
      lock_message(peer, wire::RequestKind::lock_request, request.lock, request.owner);
  operation.header.operation = static_cast<std::uint8_t>(wire::lock_request_kind(request));
  operation.header.lock_time = request.time;
  operation.completion = request.completion;
  std::uint64_t const sequence = streams_.queue(peer, operation).last_sequence;
  if (has_delayed_ack(operation)) peer.state().messages.delayed.note(sequence);
  streams_.advance(peer);
  return {Status::ok, false, sequence};
}

std::optional<Issued> LockRequests::acquire_in_stream(Peer& peer, LockRequest const& request,
                                                      std::uint32_t context) {
  if (Status const status = sessions_.ensure_session(peer); failed(status)) return Issued::ended(status);
  OriginStream& stream = peer.state().messages;
  if (stream.unsent != nullptr || !stream.may_send()) return std::nullopt;
  MessageOperation operation =
      lock_message(peer, wire::RequestKind::lock_request, request.lock, request.owner);
  operation.header.operation = static_cast<std::uint8_t>(wire::lock_request_kind(request));
  operation.header.lock_time = request.time;
  operation.header.flags |= wire::flag_in_stream;
  operation.header.context = context;
  operation.lock_may_batch = sender_.makes_batches();
  std::uint64_t const sequence = peer.reserve(1);
  if (has_delayed_ack(operation)) stream.delayed.note(sequence);
  stream.followed_by_all = sequence;
  stream.stream_lock_hint.store(true, std::memory_order_relaxed);
  return Issued{streams_.send_empty(peer, operation, sequence), false, sequence};
}

bool LockRequests::must_not_follow_lock(Peer& peer, Layout const& target, OpFlags op_flags) const {
  OriginStream const& stream = peer.state().messages;
  if (!stream.may_wait_for_lock() || stream.broken) return false;
  return streams_.may_need_messages(target) || has(op_flags, OpFlags::atomic) || stream.unsent != nullptr ||
         !stream.may_send();
}

Issued LockRequests::release(Peer& peer, LockId lock, std::uint32_t owner, wire::LockReleaseKind kind,
                             std::uint32_t context) {
  if (Status const status = sessions_.ensure_session(peer); failed(status)) return Issued::ended(status);
  MessageOperation operation = lock_message(peer, wire::RequestKind::lock_release, lock, owner);
  operation.header.operation = static_cast<std::uint8_t>(kind);
  operation.header.context = context;
  OriginStream& stream = peer.state().messages;
  bool const at_once = stream.unsent == nullptr && stream.may_send();
  // Send the release in the batch with its predecessors, whose acknowledgement covers it.
  operation.lock_may_batch = at_once && stream.has_open_batch();
  if (operation.lock_may_batch) operation.header.flags &= static_cast<std::uint16_t>(~wire::flag_delayed_ack);
  std::uint64_t const sequence = at_once ? peer.reserve(1) : streams_.queue(peer, operation).last_sequence;
  if (has_delayed_ack(operation)) stream.delayed.note(sequence);
  // Complete without an acknowledgement: if the connection is lost, the target releases the lock.
  if (at_once) {
    Status const status = streams_.send_empty(peer, operation, sequence);
    sender_.send_batch(peer);
    return {status, true, sequence};
  }
  streams_.advance(peer);
  return {Status::ok, true, sequence};
}

}  // namespace mpixrma::engine
