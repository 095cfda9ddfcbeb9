#include "engine/proto/origin_sessions.hpp"

#include <cstring>
#include <utility>
#include <vector>

#include "engine/base/shared_memory.hpp"
#include "engine/origin/peer_state.hpp"

namespace mpixrma::engine {

void OriginSessions::add_peer(Peer& peer) {
  peers_.emplace(peer.process(), &peer);
  Connections::Connection const* const connection = connections_.find(peer.process());
  peer.state().messages.suspended = connection != nullptr && connection->disconnecting;
}

void OriginSessions::remove_peer(Peer& peer) {
  std::erase_if(sessions_, [&](auto const& session) { return session.second == &peer; });
  peers_.erase(peer.process());
  queries_.forget(peer.process());
}

/// While the stream is suspended, operations wait; MessageProtocol::resume() calls this function again.
bool OriginSessions::connect(Peer& peer) {
  PeerState& state = peer.state();
  if (state.messages.endpoint != nullptr || state.messages.suspended) return true;
  if (state.messages.broken) return false;
  if (request_ucx_or_address(peer)) {
    state.messages.suspended = true;
    return true;
  }
  state.messages.endpoint = connections_.open(peer.process(), state.location);
  if (state.messages.endpoint == nullptr) return false;
  try {
    return send_handshake(peer);
  } catch (...) {
    state.messages.endpoint = nullptr;  // nothing may be sent there before a handshake
    throw;
  }
}

/// Starts UCX in this process, or asks for the address of the peer, if the connection lacks one of
/// them. Returns whether the connection must wait for it.
bool OriginSessions::request_ucx_or_address(Peer& peer) {
  PeerState const& state = peer.state();
  if (!transport_.is_open()) {
    waiting_.push_back(peer.process());
    start_ucx_();
    return true;
  }
  // A connection that the peer has opened needs no address.
  if (!state.location.is_deferred || connections_.find_open(peer.process()) != nullptr) return false;
  queries_.ask(peer.process(), state.secret, state.location.worker);
  return true;
}

bool OriginSessions::learn_address(Peer& peer, std::span<std::byte const> address) {
  ProcessAddress known;
  if (!decode(address, &known) || known.process != peer.process() || known.is_deferred) return false;
  // Nothing else of the location changes: cross-memory transfers read the pid without the channel's lock.
  Location& location = peer.state().location;
  location.worker = connections_.locate(std::move(known)).worker;
  location.is_deferred = false;
  return true;
}

Status OriginSessions::ensure_session(Peer& peer) {
  if (!connect(peer)) return descriptors_run_short() ? Status::no_descriptors : Status::unreachable;
  return peer.state().messages.broken ? Status::unreachable : Status::ok;
}

/// Sends the handshake, which proves knowledge of the peer's secret and contains the address for replies. A
/// reopened connection continues the previous session.
bool OriginSessions::send_handshake(Peer& peer) {
  PeerState& state = peer.state();
  SessionOpening const opening{.origin = credentials_.process,
                               .origin_incarnation = credentials_.incarnation,
                               .target = peer.process(),
                               .number = ++handshakes_,
                               .connection = connections_.number_of(peer.process()),
                               .nonce = credentials_.nonce};
  SessionTokens const session = tokens_of(state.secret, opening);
  state.messages.session = session.request;
  sessions_[session.reply] = &peer;
  if (state.encrypt) {
    SealKeys const keys = seal_keys_of(state.secret, opening);
    transport_.seals().forget(state.messages.endpoint);
    transport_.seals().expect(peer.process(), keys.replies, keys.requests);
    transport_.seals().begin(peer.process(), state.messages.endpoint);
  }
  std::vector<std::byte> const payload = make_handshake(state.secret, opening, address_);
  auto header = wire::begin_header<wire::RequestHeader>(wire::RequestKind::handshake);
  header.block = header.bytes = header.total = payload.size();
  Message& message = sender_.message();
  std::memcpy(message.payload(payload.size()), payload.data(), payload.size());
  return !failed(sender_.send(peer, header, message, payload.size()));
}

Peer* OriginSessions::peer_of(std::uint64_t process) const noexcept {
  auto const found = peers_.find(process);
  return found != peers_.end() ? found->second : nullptr;
}

Peer* OriginSessions::peer_with(std::uint64_t session) const noexcept {
  auto const found = sessions_.find(session);
  return found != sessions_.end() ? found->second : nullptr;
}

std::optional<std::uint64_t> OriginSessions::process_of(std::uint64_t session) const noexcept {
  Peer const* const peer = peer_with(session);
  return peer != nullptr ? std::optional(peer->process()) : std::nullopt;
}

std::uint64_t OriginSessions::session_with(std::uint64_t process) const noexcept {
  Peer* const peer = peer_of(process);
  return peer != nullptr ? peer->state().messages.session : 0;
}

}  // namespace mpixrma::engine
