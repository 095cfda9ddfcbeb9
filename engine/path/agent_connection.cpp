/// AgentPath: the beginning and the end of the connection to a peer.
#include <algorithm>
#include <cstring>

#include "engine/log.hpp"
#include "engine/path/agent_path.hpp"
#include "engine/peer/peer_state.hpp"

namespace mpix::engine {

ucp_ep_h AgentPath::endpoint(Peer& peer) {
  PeerState& state = peer.state();
  if (state.messages.endpoint == nullptr && !state.messages.broken) {
    state.messages.endpoint = connections_.open(peer.process(), state.location);
    if (state.messages.endpoint != nullptr && !introduce(peer)) return nullptr;
  }
  return state.messages.endpoint;
}

/// Tells the peer who this process is, and how to answer it.
bool AgentPath::introduce(Peer& peer) {
  wire::RequestHeader header =
      wire::begin_header<wire::RequestHeader>(wire::RequestKind::introduction, settings_.process);
  header.block = header.bytes = header.total = introduction_.size();
  Message& message = transport_.message();
  std::memcpy(message.payload(introduction_.size()), introduction_.data(), introduction_.size());
  return !failed(send(peer, header, message, introduction_.size()));
}

Peer* AgentPath::lose(Connections::Loss const& loss) {
  auto const found = peers_.find(loss.process);
  if (found == peers_.end()) return nullptr;
  Peer& peer = *found->second;
  MessageStream& stream = peer.state().messages;
  if (stream.broken) return &peer;
  // At the end of a job peers go one after the other: only what is lost with them is worth a line.
  bool const idle = finished(peer, peer.newest());
  log(idle ? LogLevel::life : LogLevel::error, "connection to process %llx lost: %s",
      static_cast<unsigned long long>(loss.process), loss.reason.c_str());
  stream.broken = true;
  stream.endpoint = nullptr;
  peer.lose();
  for (Outstanding* entry = stream.unsent; entry != nullptr; entry = entry->next) note_sent(*entry);
  stream.unsent = nullptr;
  for (Outstanding* entry = stream.unfinished.front(); entry != nullptr; entry = entry->next) {
    entry->status = Status::transport;
    entry->next_sequence = entry->last_sequence + 1;
  }
  std::uint64_t const executed = stream.executed.load(std::memory_order_relaxed);
  for (auto const& [context, newest] : stream.forgotten) {
    if (newest > executed) stream.errors.keep(context, Status::transport);
  }
  due_.push_back(&peer);
  return &peer;
}

}  // namespace mpix::engine
