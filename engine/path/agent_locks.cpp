/// AgentPath: locks of a peer, which its agent grants.
#include "engine/path/agent_path.hpp"
#include "engine/peer/peer_state.hpp"

namespace mpix::engine {

namespace {

MessageOperation lock_message(wire::RequestKind kind, LockId lock, std::uint32_t owner) noexcept {
  MessageOperation operation;
  operation.header = wire::begin_header<wire::RequestHeader>(kind);
  operation.header.address = lock;
  operation.header.owner = owner;
  // Behind everything; cut down to what stands before it when it is sent.
  operation.header.after = UINT64_MAX;
  return operation;
}

}  // namespace

Issued AgentPath::acquire(Peer& peer, LockRequest const& request) {
  if (Status const status = reach(peer); failed(status)) return {status, true, 0};
  MessageOperation operation = lock_message(wire::RequestKind::acquire, request.lock, request.owner);
  operation.header.operation = static_cast<std::uint8_t>(wire::acquire_kind(request.mode, request.attempt));
  operation.completion = request.completion;
  std::uint64_t const sequence = queue(peer, operation).last_sequence;
  advance(peer);
  return {Status::ok, false, sequence};
}

Issued AgentPath::release(Peer& peer, LockId lock, std::uint32_t owner, wire::ReleaseKind kind,
                          std::uint32_t context) {
  if (Status const status = reach(peer); failed(status)) return {status, true, 0};
  MessageOperation operation = lock_message(wire::RequestKind::release, lock, owner);
  operation.header.operation = static_cast<std::uint8_t>(kind);
  operation.header.context = context;
  MessageStream& stream = peer.state().messages;
  if (stream.unsent == nullptr && window_open(peer)) {
    std::uint64_t const sequence = peer.reserve(1);
    stream.note_forgotten(context, sequence);
    return {send_fragment(peer, operation, Fragment{}, sequence, nullptr), true, sequence};
  }
  std::uint64_t const sequence = queue(peer, operation).last_sequence;
  stream.note_forgotten(context, sequence);
  advance(peer);
  return {Status::ok, true, sequence};
}

}  // namespace mpix::engine
