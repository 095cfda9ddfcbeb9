/// MessageProtocol: opening and closing the connection to a peer.
#include <algorithm>
#include <cstring>

#include "engine/origin/peer_state.hpp"
#include "engine/proto/message.hpp"
#include "engine/proto/network.hpp"

namespace mpixrma::engine {

void MessageProtocol::add_peer(Peer& peer) {
  peers_.emplace(peer.process(), &peer);
  Connections::Connection const* const connection = connections_.find(peer.process());
  peer.state().messages.suspended = connection != nullptr && connection->asked != 0;
}

bool MessageProtocol::remove_peer(Peer& peer) {
  settle_due();
  PeerState& state = peer.state();
  if (!state.messages.broken || state.messages.unfinished.front() != nullptr) return false;
  if (!state.network().pending.empty() || state.network().flushing) return false;
  for (Outstanding const* entry = acquiring_.front(); entry != nullptr; entry = entry->next) {
    if (entry->peer == &peer) return false;
  }
  NetworkProtocol::forget_all(peer);
  std::erase_if(sessions_, [&](auto const& session) { return session.second == &peer; });
  std::erase(stalled_, &peer);
  std::erase_if(ahead_, [&](auto const& known) { return known.first == &peer; });
  std::erase_if(revocations_, [&](Revocation const& asked) { return asked.peer == &peer; });
  peers_.erase(peer.process());
  return true;
}

/// While the stream is suspended, operations wait; resume() calls this function again.
bool MessageProtocol::connect(Peer& peer) {
  PeerState& state = peer.state();
  if (state.messages.endpoint != nullptr || state.messages.suspended) return true;
  if (state.messages.broken) return false;
  state.messages.endpoint = connections_.open(peer.process(), state.location);
  if (state.messages.endpoint == nullptr) return false;
  try {
    return introduce(peer);
  } catch (...) {
    state.messages.endpoint = nullptr;  // nothing may be sent there before a handshake
    throw;
  }
}

/// Sends the handshake, which proves knowledge of the peer's secret and contains the address for answers. A
/// reopened connection continues the previous session.
bool MessageProtocol::introduce(Peer& peer) {
  PeerState& state = peer.state();
  SessionOpening const opening{credentials_.process, credentials_.incarnation, peer.process(),
                               ++introductions_, credentials_.nonce};
  SessionTokens const session = tokens_of(state.secret, opening);
  state.messages.session = session.request;
  sessions_[session.reply] = &peer;
  if (state.encrypt) {
    SealKeys const keys = seal_keys_of(state.secret, opening);
    transport_.seals().forget(state.messages.endpoint);
    transport_.seals().expect(peer.process(), keys.replies, keys.requests);
    transport_.seals().begin(peer.process(), state.messages.endpoint);
  }
  std::vector<std::byte> const payload = make_introduction(state.secret, opening, address_);
  auto header = wire::begin_header<wire::RequestHeader>(wire::RequestKind::introduction);
  header.block = header.bytes = header.total = payload.size();
  Message& message = transport_.message();
  std::memcpy(message.payload(payload.size()), payload.data(), payload.size());
  return !failed(send(peer, header, message, payload.size()));
}

Peer* MessageProtocol::lose(Connections::Loss const& loss) {
  Peer* const known = peer_of(loss.process);
  if (known == nullptr) return nullptr;
  Peer& peer = *known;
  MessageStream& stream = peer.state().messages;
  if (stream.broken) return &peer;
  // At the end of a job peers disconnect one after the other: only lost operations are worth a log line.
  bool const idle = finished(peer, stream.delayed.newest_undelayed(peer.newest()));
  log_.write(idle ? LogLevel::life : LogLevel::error, "connection to process %llx lost: %s",
             static_cast<unsigned long long>(loss.process), loss.reason.c_str());
  stream.broken = true;
  stream.endpoint = nullptr;
  if (stream.is_joining()) {
    transport_.discard(*stream.joined->message);
    forget_joined(peer);
  }
  stream.suspended = false;
  peer.lose();
  for (Outstanding* entry = stream.unsent; entry != nullptr; entry = entry->next) note_sent(*entry);
  stream.unsent = nullptr;
  for (Outstanding* entry = stream.unfinished.front(); entry != nullptr; entry = entry->next) {
    entry->status = Status::transport;
    entry->next_sequence = entry->last_sequence + 1;
  }
  for (Outstanding* entry = acquiring_.front(); entry != nullptr; entry = entry->next) {
    if (entry->peer == &peer) entry->status = Status::transport;
  }
  stream.forgotten.fail(stream.executed.load(std::memory_order_relaxed), stream.errors);
  due_.push_back(&peer);
  return &peer;
}

Peer* MessageProtocol::peer_of(std::uint64_t process) const noexcept {
  auto const found = peers_.find(process);
  return found != peers_.end() ? found->second : nullptr;
}

std::optional<std::uint64_t> MessageProtocol::process_of(std::uint64_t session) const noexcept {
  auto const found = sessions_.find(session);
  return found != sessions_.end() ? std::optional(found->second->process()) : std::nullopt;
}

std::uint64_t MessageProtocol::session_with(std::uint64_t process) const noexcept {
  Peer* const peer = peer_of(process);
  return peer != nullptr ? peer->state().messages.session : 0;
}

bool MessageProtocol::is_idle(std::uint64_t process) const noexcept {
  Peer* const peer = peer_of(process);
  if (peer == nullptr) return true;
  MessageStream const& stream = peer->state().messages;
  bool const revoking = std::any_of(revocations_.begin(), revocations_.end(),
                                    [&](Revocation const& asked) { return asked.peer == peer; });
  for (Outstanding const* entry = acquiring_.front(); entry != nullptr; entry = entry->next) {
    if (entry->peer == peer) return false;
  }
  // Delayed messages must have been executed before this process agrees to disconnect. If the peer requests
  // the disconnect, they must also not include a lock request.
  bool const acknowledged =
      stream.executed.load(std::memory_order_relaxed) >= stream.delayed.newest_undelayed(peer->newest()) &&
      !stream.may_wait_for_lock();
  bool const sent = stream.unfinished.front() == nullptr && !stream.is_joining();
  return sent && acknowledged && !revoking && peer->state().network().is_idle();
}

std::uint64_t MessageProtocol::last_use(std::uint64_t process) const noexcept {
  Peer* const peer = peer_of(process);
  return peer != nullptr ? peer->state().messages.last_use : 0;
}

void MessageProtocol::suspend(std::uint64_t process) noexcept {
  if (Peer* const peer = peer_of(process)) peer->state().messages.suspended = true;
}

void MessageProtocol::part(std::uint64_t process) noexcept {
  Peer* const peer = peer_of(process);
  if (peer == nullptr) return;
  NetworkProtocol::forget_all(*peer);
  peer->state().messages.endpoint = nullptr;
  std::erase_if(revocations_, [&](Revocation const& asked) { return asked.peer == peer; });
}

/// Sends the operations issued meanwhile, over a new connection if the last one is closed.
void MessageProtocol::resume(std::uint64_t process) {
  Peer* const peer = peer_of(process);
  if (peer == nullptr) return;
  MessageStream& stream = peer->state().messages;
  stream.suspended = false;
  if (stream.unsent == nullptr) return;
  if (connect(*peer)) {
    due_.push_back(peer);
  } else {
    connections_.lose(process, "the connection cannot be reopened");
  }
}

}  // namespace mpixrma::engine
