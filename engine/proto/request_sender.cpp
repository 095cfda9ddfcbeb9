#include "engine/proto/request_sender.hpp"

#include <algorithm>
#include <memory>

#include "engine/origin/peer_state.hpp"

namespace mpixrma::engine {

namespace {

/// Charges the cost of the request to the credit.
void charge(Peer& peer, wire::RequestHeader const& header, std::size_t payload_bytes) noexcept {
  peer.state().messages.credit.charge(wire::cost_of(header, payload_bytes));
  peer.state().traffic.add_message();
}

}  // namespace

Status RequestSender::send(Peer& peer, wire::RequestHeader& header, Message& message,
                           std::size_t payload_bytes) {
  MessageStream& stream = peer.state().messages;
  // Flush the batch first to preserve issue order.
  if (stream.is_joining()) send_joined(peer);
  stream.newest_sent = std::max(stream.newest_sent, header.sequence);
  if (header.sequence != 0) {
    stream.newest_has_delayed_ack = (header.flags & wire::flag_delayed_ack) != 0;
    header.session = stream.session;
    charge(peer, header, payload_bytes);
  }
  message.set_header(header);
  ++messages_;
  stream.last_use = connections_.note_use();
  return transport_.send(stream.endpoint, wire::MessageClass::request, message);
}

bool RequestSender::joins(Peer& peer, MessageOperation const& operation,
                          std::size_t payload_bytes) const noexcept {
  using Writer = wire::JoinedWriter<wire::RequestHeader>;
  bool const small = payload_bytes + Writer::max_overhead <= joined_bytes_ / 2;
  if (operation.travels_alone || !small || operation.total > joined_bytes_ / 2) return false;
  MessageStream const& stream = peer.state().messages;
  if (!wire::moves_data(operation.header)) return operation.joins;
  return stream.is_joining() || (stream.is_busy() && !operation.is_urgent);
}

std::byte* RequestSender::join(Peer& peer, wire::RequestHeader& header, std::size_t payload_bytes) {
  MessageStream& stream = peer.state().messages;
  header.session = stream.session;
  if (!stream.is_joining()) begin_joined(peer);
  std::byte* out = stream.joined->records.append(header, payload_bytes);
  if (out == nullptr) {
    send_joined(peer);
    begin_joined(peer);
    out = stream.joined->records.append(header, payload_bytes);
  }
  note_appended(peer, header, payload_bytes);
  return out;
}

void RequestSender::note_appended(Peer& peer, wire::RequestHeader const& header,
                                  std::size_t payload_bytes) noexcept {
  JoinedRequests& joined = *peer.state().messages.joined;
  joined.last_sequence = header.sequence;
  joined.ends_delayed_ack = (header.flags & wire::flag_delayed_ack) != 0;
  charge(peer, header, payload_bytes);
  ++joined_;
}

void RequestSender::begin_joined(Peer& peer) {
  MessageStream& stream = peer.state().messages;
  if (stream.joined == nullptr) stream.joined = std::make_unique<JoinedRequests>();
  joining_.reserve(joining_.size() + 1);
  Message& message = transport_.message();
  std::size_t const bytes = joined_bytes_;
  stream.joined->records = {stream.session, {message.payload(bytes), bytes}};
  stream.joined->message = &message;
  joining_.push_back(&peer);
  is_joining_.store(true, std::memory_order_relaxed);
}

/// Starts over without a batch.
void RequestSender::forget_joined(Peer& peer) noexcept {
  peer.state().messages.joined->message = nullptr;
  std::erase(joining_, &peer);
  is_joining_.store(!joining_.empty(), std::memory_order_relaxed);
}

void RequestSender::send_joined(Peer& peer) {
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
  stream.newest_has_delayed_ack = stream.joined->ends_delayed_ack;
  stream.last_use = connections_.note_use();
  // Unsent operations fail when the lost connection is reported.
  (void)transport_.send(stream.endpoint, wire::MessageClass::requests, message);
}

void RequestSender::discard_joined(Peer& peer) noexcept {
  if (!peer.state().messages.is_joining()) return;
  transport_.discard(*peer.state().messages.joined->message);
  forget_joined(peer);
}

bool RequestSender::is_sealed(Peer& peer) const noexcept {
  return transport_.is_sealed(peer.state().messages.endpoint);
}

}  // namespace mpixrma::engine
