#include "engine/target/replies.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "engine/base/tsan_ignore_scope.hpp"
#include "engine/net/batch.hpp"
#include "engine/op/kernel/kernels.hpp"

namespace mpixrma::engine {

Replies::Reply& Replies::add(Origin& origin, wire::ReplyKind kind, wire::RequestHeader const& request) {
  Reply reply{&origin, wire::begin_header<wire::ReplyHeader>(kind), nullptr, small_.size()};
  reply.header.context = request.context;
  reply.header.operation_id = request.operation_id;
  replies_.push_back(reply);
  ++origin.unsent_replies;
  return replies_.back();
}

std::byte* Replies::add_payload(Reply& reply, std::size_t bytes) {
  bool const is_small = bytes <= batch_bytes_ / 2;
  try {
    if (is_small)
      small_.resize(reply.begin + wire::padded(bytes));
    else
      reply.message = &new_message(*reply.origin, bytes);
  } catch (...) {
    reply.header.bytes = 0;
    drop_from(replies_.size() - 1);
    throw;
  }
  if (!is_small) return reply.message->payload(bytes);
  reply.origin->waiting_bytes += bytes;
  return small_.data() + reply.begin;
}

Replies::Reply& Replies::add_borrowed(Origin& origin, wire::RequestHeader const& request,
                                      std::span<std::byte const> data) {
  if (origin.borrowed == nullptr)
    origin.borrowed = std::make_shared<MessageAccount>(MessageAccount{0, borrowed_});
  Message& message = transport_.message();
  Reply* reply = nullptr;
  try {
    reply = &add(origin, wire::ReplyKind::data, request);
  } catch (...) {
    transport_.discard(message);
    throw;
  }
  if (origin.borrowed->bytes == 0) origin.first_borrowing = request.sequence;
  message.borrow(data.data(), data.size());
  message.charge(origin.borrowed);
  reply->message = &message;
  reply->borrowed = data.data();
  reply->header.bytes = data.size();
  return *reply;
}

void Replies::drop_from(std::size_t first) noexcept {
  if (first == replies_.size()) return;
  small_.resize(replies_[first].begin);
  std::span<Reply const> const dropped = std::span(replies_).subspan(first);
  for (Reply const& reply : dropped) {
    reply.note_removed();
    if (reply.message != nullptr) transport_.discard(*reply.message);
  }
  replies_.erase(replies_.begin() + static_cast<std::ptrdiff_t>(first), replies_.end());
}

void Replies::add_failure(Origin& origin, wire::RequestHeader const& request, Status status,
                          std::uint64_t exposed_base) {
  Reply& reply = add(origin, wire::ReplyKind::failed, request);
  reply.header.status = static_cast<std::uint8_t>(status);
  reply.header.offset = request.bytes;
  wire::FailureReply const failure = wire::failure_reply(request, exposed_base);
  reply.header.bytes = sizeof failure;
  std::memcpy(add_payload(reply, sizeof failure), &failure, sizeof failure);
}

void Replies::schedule_acknowledgement(Origin& origin) {
  if (origin.acknowledgement_due) return;
  origin.acknowledgement_due = true;
  unacknowledged_.push_back(&origin);
}

void Replies::send_all() {
  // UCX delivers a message from a process to itself within the send: a reply may cause the next request,
  // and that request another reply, while the first reply is still being sent.
  if (is_sending_) return;
  is_sending_ = true;
  try {
    while (are_due()) send_due();
  } catch (...) {
    is_sending_ = false;
    throw;
  }
  is_sending_ = false;
}

/// Sends the replies that lack of memory has delayed, or else all due ones.
void Replies::send_due() {
  if (sending_.is_sent()) {
    sending_.replies.clear();
    sending_.small.clear();
    sending_.unacknowledged.clear();
    sending_.sent = sending_.acknowledged = 0;
    std::swap(sending_.replies, replies_);
    std::swap(sending_.small, small_);
    std::swap(sending_.unacknowledged, unacknowledged_);
  }
  while (sending_.sent != sending_.replies.size()) {
    std::span<Reply> const rest = std::span(sending_.replies).subspan(sending_.sent);
    sending_.sent += send_together(rest.first(count_together(rest)), sending_.small);
  }
  for (; sending_.acknowledged != sending_.unacknowledged.size(); ++sending_.acknowledged) {
    Origin& origin = *sending_.unacknowledged[sending_.acknowledged];
    if (origin.acknowledgement_due) acknowledge(origin);
  }
}

void Replies::forget(Origin const* origin) noexcept {
  std::erase_if(replies_, [&](Reply const& reply) {
    if (reply.origin == origin && reply.message != nullptr) transport_.discard(*reply.message);
    return reply.origin == origin;
  });
  std::erase(unacknowledged_, origin);
  sending_.forget(origin, transport_);
}

void Replies::SendQueue::forget(Origin const* origin, Transport& transport) noexcept {
  auto const first = replies.begin() + static_cast<std::ptrdiff_t>(sent);
  auto const is_its = [&](Reply const& reply) { return reply.origin == origin; };
  std::for_each(first, replies.end(), [&](Reply const& reply) {
    if (is_its(reply) && reply.message != nullptr) transport.discard(*reply.message);
  });
  replies.erase(std::remove_if(first, replies.end(), is_its), replies.end());
  auto const next = unacknowledged.begin() + static_cast<std::ptrdiff_t>(acknowledged);
  unacknowledged.erase(std::remove(next, unacknowledged.end(), origin), unacknowledged.end());
}

/// Returns a message with a payload of this size: all memory of a reply is allocated before the reply counts
/// as sent.
Message& Replies::new_message(Origin const& origin, std::size_t payload_bytes) {
  Message& message = transport_.message(payload_bytes);
  if (origin.unsent != nullptr) message.charge(origin.unsent);
  return message;
}

/// Whether the reply may share a message with others. One whose payload is borrowed is copied then: a message
/// of its own costs more than a copy.
bool Replies::is_small(Reply const& reply) const noexcept {
  using Writer = wire::BatchWriter<wire::ReplyHeader>;
  return reply.message == nullptr ||
         (reply.borrowed != nullptr && reply.header.bytes + Writer::max_overhead <= batch_bytes_ / 2);
}

/// Returns the number of replies, from the first on, that may share a message; at least 1.
std::size_t Replies::count_together(std::span<Reply const> replies) const noexcept {
  if (batch_bytes_ == 0) return 1;
  std::size_t count = 0;
  while (count < replies.size() && is_small(replies[count]) && replies[count].origin == replies[0].origin)
    ++count;
  return std::max<std::size_t>(count, 1);
}

namespace {

void copy_borrowed(std::byte* to, Replies::Reply const& reply) noexcept {
  [[maybe_unused]] TsanIgnoreScope const ignored_by_tsan;
  copy_bytes(to, reply.borrowed, reply.header.bytes);
}

}  // namespace

/// Sends several small replies in a batch, or a single one. Returns how many replies the message contains.
std::size_t Replies::send_together(std::span<Reply> replies, std::span<std::byte const> payloads) {
  if (replies.size() != 1) return send_as_batch(replies, payloads);
  send_alone(replies[0], payloads);
  return 1;
}

std::size_t Replies::send_as_batch(std::span<Reply> replies, std::span<std::byte const> payloads) {
  Origin& origin = *replies[0].origin;
  Message& message = new_message(origin, batch_bytes_);
  wire::BatchWriter<wire::ReplyHeader> records(origin.session.reply,
                                               {message.payload(batch_bytes_), batch_bytes_});
  auto header = wire::begin_header<wire::BatchHeader>(wire::RequestKind{});
  header.session = origin.session.reply;
  message.set_header(header);
  std::size_t sent = 0;
  for (Reply& reply : replies) {
    --origin.unsent_replies;
    fill_acknowledgement(origin, reply.header);
    std::byte* const out = records.append(reply.header, reply.header.bytes);
    if (out == nullptr) {
      ++origin.unsent_replies;  // this reply goes into the next message
      break;
    }
    if (reply.message == nullptr) {
      origin.waiting_bytes -= reply.header.bytes;
      if (reply.header.bytes != 0) std::memcpy(out, payloads.data() + reply.begin, reply.header.bytes);
    } else {
      copy_borrowed(out, reply);
      transport_.discard(*std::exchange(reply.message, nullptr));
    }
    ++sent;
  }
  message.cut(records.bytes());
  send(origin, wire::MessageClass::reply_batch, message);
  return sent;
}

void Replies::send_alone(Reply& reply, std::span<std::byte const> payloads) {
  bool const is_packed = reply.message == nullptr;
  Message& message = is_packed ? new_message(*reply.origin, reply.header.bytes) : *reply.message;
  if (is_packed && reply.header.bytes != 0)
    std::memcpy(message.payload(reply.header.bytes), payloads.data() + reply.begin, reply.header.bytes);
  reply.note_removed();
  fill_acknowledgement(*reply.origin, reply.header);
  message.set_header(reply.header);
  send(*reply.origin, wire::MessageClass::reply, message);
}

void Replies::acknowledge(Origin& origin) {
  Message& message = new_message(origin, 0);
  auto header = wire::begin_header<wire::ReplyHeader>(wire::ReplyKind::executed);
  fill_acknowledgement(origin, header);
  message.set_header(header);
  send(origin, wire::MessageClass::reply, message);
}

/// Adds the acknowledgement of everything that is executed, unless other replies to the origin still wait: an
/// origin that sees the acknowledgement must have seen every failure before.
void Replies::fill_acknowledgement(Origin& origin, wire::ReplyHeader& header) const {
  if (origin.unsent_replies == 0) {
    origin.acknowledged = origin.executed;
    origin.acknowledgement_due = false;
    origin.tidy();
  }
  header.session = origin.session.reply;
  header.executed = origin.acknowledged;
  header.segments_version = segments_.version();
  header.processed_cost = origin.reported_cost = origin.processed_cost;
  header.credit = credit_;
  header.lock_clock = locks_.clock().now();
}

void Replies::send(Origin& origin, wire::MessageClass kind, Message& message) {
  // The connection to the origin is not open yet, or is closed.
  if (origin.endpoint == nullptr) {
    transport_.discard(message);
  } else {
    origin.last_use = connections_.note_use();
    (void)transport_.send(origin.endpoint, kind, message);
    if (origin.unsent != nullptr) check_unsent_(origin);
  }
}

}  // namespace mpixrma::engine
