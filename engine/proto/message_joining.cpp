/// MessageProtocol: batches of small requests to one peer.
#include <algorithm>

#include "engine/origin/peer_state.hpp"
#include "engine/proto/message.hpp"

namespace mpixrma::engine {

/// Whether the request joins a batch: behind messages in flight whose acknowledgement is certain to arrive,
/// or behind a lock request that has not been sent.
bool MessageProtocol::joins(Peer& peer, MessageOperation const& operation,
                            std::size_t payload_bytes) const noexcept {
  using Writer = wire::JoinedWriter<wire::RequestHeader>;
  bool const small = payload_bytes + Writer::max_overhead <= settings_.joined_bytes / 2;
  if (operation.travels_alone || !small || operation.total > settings_.joined_bytes / 2) return false;
  MessageStream const& stream = peer.state().messages;
  return wire::moves_data(operation.header) ? stream.is_busy() || stream.is_joining() : operation.joins;
}

/// Adds the request to the current batch; returns the location for its payload.
std::byte* MessageProtocol::join(Peer& peer, wire::RequestHeader& header, std::size_t payload_bytes) {
  MessageStream& stream = peer.state().messages;
  header.session = stream.session;
  if (!stream.is_joining()) begin_joined(peer);
  std::byte* out = stream.joined->records.append(header, payload_bytes);
  if (out == nullptr) {
    send_joined(peer);
    begin_joined(peer);
    out = stream.joined->records.append(header, payload_bytes);
  }
  stream.joined->last_sequence = header.sequence;
  stream.joined->ends_quiet = (header.flags & wire::flag_quiet) != 0;
  charge(peer, header, payload_bytes);
  ++joined_;
  return out;
}

void MessageProtocol::begin_joined(Peer& peer) {
  MessageStream& stream = peer.state().messages;
  if (stream.joined == nullptr) stream.joined = std::make_unique<JoinedRequests>();
  joining_.reserve(joining_.size() + 1);
  Message& message = transport_.message();
  std::size_t const bytes = settings_.joined_bytes;
  stream.joined->records = {stream.session, {message.payload(bytes), bytes}};
  stream.joined->message = &message;
  joining_.push_back(&peer);
  is_joining_.store(true, std::memory_order_relaxed);
}

/// Starts over without a batch.
void MessageProtocol::forget_joined(Peer& peer) noexcept {
  peer.state().messages.joined->message = nullptr;
  std::erase(joining_, &peer);
  is_joining_.store(!joining_.empty(), std::memory_order_relaxed);
}

void MessageProtocol::send_joined(Peer& peer) {
  MessageStream& stream = peer.state().messages;
  if (!stream.is_joining()) return;
  Message& message = *stream.joined->message;
  forget_joined(peer);  // before sending, which may call back
  message.cut(stream.joined->records.bytes());
  auto header = wire::begin_header<wire::JoinedHeader>(wire::RequestKind{});
  header.session = stream.session;
  message.set_header(header);
  ++messages_;
  stream.newest_sent = std::max(stream.newest_sent, stream.joined->last_sequence);
  stream.sent_quiet = stream.joined->ends_quiet;
  stream.last_use = connections_.note_use();
  // Unsent operations fail when the lost connection is reported.
  (void)transport_.send(stream.endpoint, wire::MessageClass::requests, message);
}

}  // namespace mpixrma::engine
