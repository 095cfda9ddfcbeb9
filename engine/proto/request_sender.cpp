#include "engine/proto/request_sender.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

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
  OriginStream& stream = peer.state().messages;
  // Flush the batch first to preserve issue order.
  if (stream.has_open_batch()) send_batch(peer);
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

bool RequestSender::goes_in_batch(Peer& peer, MessageOperation const& operation,
                                  std::size_t payload_bytes) const noexcept {
  using Writer = wire::BatchWriter<wire::RequestHeader>;
  bool const small = payload_bytes + Writer::max_overhead <= batch_bytes_ / 2;
  if (operation.excluded_from_batch || !small || operation.total > batch_bytes_) return false;
  // Only the timer of a batch limits the time for which stripes are held: an acknowledgement may need them.
  if (operation.holds_stripes && !deferral_permitted_.load(std::memory_order_relaxed)) return false;
  OriginStream const& stream = peer.state().messages;
  if (!wire::moves_data(operation.header)) return operation.lock_may_batch;
  if (stream.has_open_batch()) return true;
  return !operation.delayed_ack && (stream.expects_acknowledgement() || may_defer(peer, operation));
}

/// An operation with a notification is not deferred: the target may be waiting for the notification.
bool RequestSender::may_defer(Peer& peer, MessageOperation const& operation) const noexcept {
  RequestBatch const* const last = peer.state().messages.batch.get();
  return last != nullptr && last->series.expects_series() && operation.notify == 0 &&
         operation.header.notify_exposure == 0 && deferral_permitted_.load(std::memory_order_relaxed);
}

std::byte* RequestSender::append(Peer& peer, wire::RequestHeader& header, std::size_t payload_bytes) {
  OriginStream& stream = peer.state().messages;
  header.session = stream.session;
  if (!stream.has_open_batch()) begin_batch(peer, header);
  std::byte* out = stream.batch->records.append(header, payload_bytes);
  if (out == nullptr) {
    send_batch(peer);
    begin_batch(peer, header);
    out = stream.batch->records.append(header, payload_bytes);
  }
  note_appended(peer, header, payload_bytes);
  return out;
}

void RequestSender::note_appended(Peer& peer, wire::RequestHeader const& header,
                                  std::size_t payload_bytes) noexcept {
  RequestBatch& batch = *peer.state().messages.batch;
  batch.last_sequence = header.sequence;
  batch.ends_delayed_ack = (header.flags & wire::flag_delayed_ack) != 0;
  charge(peer, header, payload_bytes);
  ++in_batches_;
}

void RequestSender::begin_batch(Peer& peer, wire::RequestHeader const& header) {
  OriginStream& stream = peer.state().messages;
  if (stream.batch == nullptr) stream.batch = std::make_unique<RequestBatch>();
  open_batches_.reserve(open_batches_.size() + 1);
  std::size_t const bytes = batch_bytes_;
  Message& message = transport_.message(bytes);
  stream.batch->records = {stream.session, {message.payload(bytes), bytes}};
  stream.batch->message = &message;
  stream.batch->first_sequence = header.sequence;
  stream.batch->deferred = wire::moves_data(header) && !stream.expects_acknowledgement();
  if (stream.batch->deferred) limit_wait(peer);
  open_batches_.push_back(&peer);
  has_open_batch_.store(true, std::memory_order_relaxed);
}

void RequestSender::limit_wait(Peer& peer) noexcept {
  if (std::exchange(peer.state().messages.batch->timed, true)) return;
  if (timed_++ == 0) newly_timed_ = true;
}

/// Leaves the peer without an open batch.
void RequestSender::forget_batch(Peer& peer) noexcept {
  RequestBatch& batch = *peer.state().messages.batch;
  batch.message = nullptr;
  batch.deferred = false;
  if (std::exchange(batch.timed, false)) --timed_;
  std::erase(open_batches_, &peer);
  has_open_batch_.store(!open_batches_.empty(), std::memory_order_relaxed);
}

void RequestSender::send_batch(Peer& peer) {
  OriginStream& stream = peer.state().messages;
  if (!stream.has_open_batch()) return;
  Message& message = *stream.batch->message;
  forget_batch(peer);  // before sending, which may call back
  message.cut(stream.batch->records.bytes());
  auto header = wire::begin_header<wire::BatchHeader>(wire::RequestKind{});
  header.session = stream.session;
  message.set_header(header);
  ++messages_;
  stream.newest_sent = std::max(stream.newest_sent, stream.batch->last_sequence);
  stream.newest_has_delayed_ack = stream.batch->ends_delayed_ack;
  stream.last_use = connections_.note_use();
  // Unsent operations fail when the lost connection is reported.
  (void)transport_.send(stream.endpoint, wire::MessageClass::request_batch, message);
}

/// A deferred batch of several operations, and a batch behind an operation in flight, count as a series: the
/// next series should be sent as a whole.
void RequestSender::send_awaited_batches() {
  while (!open_batches_.empty()) {
    Peer& peer = *open_batches_.back();
    OriginStream& stream = peer.state().messages;
    RequestBatch& batch = *stream.batch;
    bool const several = batch.first_sequence != batch.last_sequence;
    if (batch.deferred && !several) {
      batch.series.note_single();
    } else if (batch.deferred || stream.expects_acknowledgement()) {
      batch.series.note_series();
    }
    send_batch(peer);
  }
}

void RequestSender::note_series_end(Peer& peer) noexcept {
  OriginStream& stream = peer.state().messages;
  if (!stream.has_open_batch() && !stream.expects_acknowledgement()) return;
  if (stream.batch == nullptr) stream.batch.reset(new (std::nothrow) RequestBatch);
  if (stream.batch != nullptr) stream.batch->series.note_series();
}

void RequestSender::send_timed_batches() {
  for (std::size_t i = open_batches_.size(); timed_ != 0 && i-- != 0;) {
    if (open_batches_[i]->state().messages.batch->timed) send_batch(*open_batches_[i]);
  }
}

void RequestSender::send_abandoned_batches() {
  for (Peer* const peer : open_batches_) {
    RequestBatch& batch = *peer->state().messages.batch;
    if (batch.deferred) batch.series.note_single();
  }
  send_timed_batches();
}

void RequestSender::fail_connection(Peer const& peer) {
  connections_.fail(peer.process(), "no memory for a message to it");
}

void RequestSender::discard_batch(Peer& peer) noexcept {
  if (!peer.state().messages.has_open_batch()) return;
  transport_.discard(*peer.state().messages.batch->message);
  forget_batch(peer);
}

bool RequestSender::is_sealed(Peer& peer) const noexcept {
  return transport_.is_sealed(peer.state().messages.endpoint);
}

}  // namespace mpixrma::engine
