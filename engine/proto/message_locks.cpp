/// MessageProtocol: locks of a peer, which its agent grants.
#include "engine/origin/peer_state.hpp"
#include "engine/proto/message.hpp"

namespace mpixrma::engine {

namespace {

bool is_quiet(MessageOperation const& operation) noexcept {
  return (operation.header.flags & wire::flag_quiet) != 0;
}

}  // namespace

/// Its execution is not waited for: a grant is reported separately, and the next holder follows the release.
MessageOperation MessageProtocol::lock_message(Peer const& peer, wire::RequestKind kind, LockId lock,
                                               std::uint32_t owner) const noexcept {
  MessageOperation operation;
  operation.header = wire::begin_header<wire::RequestHeader>(kind);
  operation.header.address = lock;
  operation.header.owner = owner;
  // After all earlier messages; reduced to the position before it when it is sent.
  operation.header.after = UINT64_MAX;
  // An operation of a process on itself is not sent before its predecessors are acknowledged.
  if (peer.process() != credentials_.process) operation.header.flags = wire::flag_quiet;
  return operation;
}

Issued MessageProtocol::acquire(Peer& peer, LockRequest const& request) {
  if (Status const status = reach(peer); failed(status)) return {status, true, 0};
  MessageOperation operation = lock_message(peer, wire::RequestKind::acquire, request.lock, request.owner);
  operation.header.operation = static_cast<std::uint8_t>(wire::acquire_kind(request));
  operation.header.lock_time = request.time;
  operation.completion = request.completion;
  std::uint64_t const sequence = queue(peer, operation).last_sequence;
  if (is_quiet(operation)) peer.state().messages.delayed.note(sequence);
  advance(peer);
  return {Status::ok, false, sequence};
}

std::optional<Issued> MessageProtocol::acquire_in_stream(Peer& peer, LockRequest const& request,
                                                         std::uint32_t context, bool with_next) {
  if (Status const status = reach(peer); failed(status)) return Issued{status, true, 0};
  MessageStream& stream = peer.state().messages;
  if (stream.unsent != nullptr || !has_credit(peer)) return std::nullopt;
  MessageOperation operation = lock_message(peer, wire::RequestKind::acquire, request.lock, request.owner);
  operation.header.operation = static_cast<std::uint8_t>(wire::acquire_kind(request));
  operation.header.lock_time = request.time;
  operation.header.flags |= wire::flag_in_stream;
  operation.header.context = context;
  operation.joins = with_next && settings_.joined_bytes != 0;
  std::uint64_t const sequence = peer.reserve(1);
  if (is_quiet(operation)) stream.delayed.note(sequence);
  stream.fence = sequence;
  stream.locks.store(true, std::memory_order_relaxed);
  return Issued{send_fragment(peer, operation, Fragment{}, sequence, nullptr), false, sequence};
}

bool MessageProtocol::must_not_follow_lock(Peer& peer, Layout const& target, Guarantee guarantees) const {
  MessageStream const& stream = peer.state().messages;
  if (!stream.may_wait_for_lock() || stream.broken) return false;
  // One message must describe it, possibly with two operands.
  bool const small = target.size() <= settings_.fragment_bytes / 2 && target.segments.empty();
  return !small || has(guarantees, Guarantee::atomic) || stream.unsent != nullptr || !has_credit(peer);
}

Issued MessageProtocol::release(Peer& peer, LockId lock, std::uint32_t owner, wire::ReleaseKind kind,
                                std::uint32_t context) {
  if (Status const status = reach(peer); failed(status)) return {status, true, 0};
  MessageOperation operation = lock_message(peer, wire::RequestKind::release, lock, owner);
  operation.header.operation = static_cast<std::uint8_t>(kind);
  operation.header.context = context;
  MessageStream& stream = peer.state().messages;
  bool const at_once = stream.unsent == nullptr && has_credit(peer);
  // Send it in a batch with its successors, whose acknowledgement covers it.
  operation.joins = at_once && stream.is_joining();
  if (operation.joins) operation.header.flags &= static_cast<std::uint16_t>(~wire::flag_quiet);
  std::uint64_t const sequence = at_once ? peer.reserve(1) : queue(peer, operation).last_sequence;
  if (is_quiet(operation)) stream.delayed.note(sequence);
  // If the connection is lost, so is the lock.
  if (at_once) {
    Status const status = send_fragment(peer, operation, Fragment{}, sequence, nullptr);
    send_joined(peer);
    return {status, true, sequence};
  }
  advance(peer);
  return {Status::ok, true, sequence};
}

}  // namespace mpixrma::engine
