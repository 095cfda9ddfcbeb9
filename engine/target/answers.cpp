/// Executor: answers to origins.
#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "engine/net/joined.hpp"
#include "engine/target/executor.hpp"

namespace mpixrma::engine {

Executor::Reply& Executor::new_reply(Origin& origin, wire::ReplyKind kind,
                                     wire::RequestHeader const& request) {
  Reply reply{&origin, wire::begin_header<wire::ReplyHeader>(kind), nullptr, small_.size()};
  reply.header.context = request.context;
  reply.header.token = request.token;
  replies_.push_back(reply);
  ++origin.replies_waiting;
  return replies_.back();
}

/// Returns the location for the payload of the newest reply; must be called before there is another reply.
std::byte* Executor::new_payload(Reply& reply, std::size_t bytes) {
  if (bytes > settings_.joined_bytes / 2) {
    try {
      reply.message = &new_message(*reply.origin, bytes);
    } catch (...) {
      reply.header.bytes = 0;
      drop_replies(replies_.size() - 1);
      throw;
    }
    return reply.message->payload(bytes);
  }
  small_.resize(reply.begin + wire::padded(bytes));
  reply.origin->waiting_bytes += bytes;
  return small_.data() + reply.begin;
}

/// Removes the unsent replies from this index on.
void Executor::drop_replies(std::size_t first) noexcept {
  if (first == replies_.size()) return;
  small_.resize(replies_[first].begin);
  std::span<Reply const> const dropped = std::span(replies_).subspan(first);
  for (Reply const& reply : dropped) {
    reply.note_left();
    if (reply.message != nullptr) transport_.discard(*reply.message);
  }
  replies_.erase(replies_.begin() + static_cast<std::ptrdiff_t>(first), replies_.end());
}

/// `exposed_base`: the base that resolve() has added to the request's address.
void Executor::answer_failure(Origin& origin, wire::RequestHeader const& request, Status status,
                              std::uint64_t exposed_base) {
  Reply& reply = new_reply(origin, wire::ReplyKind::failed, request);
  reply.header.status = static_cast<std::uint8_t>(status);
  reply.header.offset = request.bytes;
  wire::FailureReply const named = wire::failure_reply(request, exposed_base);
  reply.header.bytes = sizeof named;
  std::memcpy(new_payload(reply, sizeof named), &named, sizeof named);
}

void Executor::owe(Origin& origin) {
  if (origin.owes_answer) return;
  origin.owes_answer = true;
  owing_.push_back(&origin);
}

void Executor::answer() {
  // UCX delivers a message of a process to itself inside of the send: the answer may lead to the next
  // request, and that to the next answer, while this one is being sent.
  if (is_answering_) return;
  is_answering_ = true;
  try {
    while (owes_answers()) send_batch();
  } catch (...) {
    is_answering_ = false;
    throw;
  }
  is_answering_ = false;
}

/// Sends the batch of answers that lack of memory has delayed, or else a new one with all due answers.
void Executor::send_batch() {
  if (sending_.is_sent()) {
    sending_.replies.clear();
    sending_.small.clear();
    sending_.owing.clear();
    sending_.sent = sending_.acknowledged = 0;
    std::swap(sending_.replies, replies_);
    std::swap(sending_.small, small_);
    std::swap(sending_.owing, owing_);
  }
  while (sending_.sent != sending_.replies.size()) {
    std::span<Reply> const rest = std::span(sending_.replies).subspan(sending_.sent);
    sending_.sent += send_together(rest.first(count_together(rest)), sending_.small);
  }
  for (; sending_.acknowledged != sending_.owing.size(); ++sending_.acknowledged) {
    Origin& origin = *sending_.owing[sending_.acknowledged];
    if (origin.owes_answer) acknowledge(origin);
  }
}

/// Removes the answers to an origin that is gone.
void Executor::Batch::forget(Origin const* origin, Transport& transport) noexcept {
  auto const first = replies.begin() + static_cast<std::ptrdiff_t>(sent);
  auto const is_its = [&](Reply const& reply) { return reply.origin == origin; };
  std::for_each(first, replies.end(), [&](Reply const& reply) {
    if (is_its(reply) && reply.message != nullptr) transport.discard(*reply.message);
  });
  replies.erase(std::remove_if(first, replies.end(), is_its), replies.end());
  auto const next = owing.begin() + static_cast<std::ptrdiff_t>(acknowledged);
  owing.erase(std::remove(next, owing.end(), origin), owing.end());
}

/// With a payload of this size. All memory that a reply needs is there before it counts as sent.
Message& Executor::new_message(Origin const& origin, std::size_t payload_bytes) {
  Message& message = transport_.message();
  try {
    if (payload_bytes != 0) (void)message.payload(payload_bytes);
  } catch (...) {
    transport_.discard(message);
    throw;
  }
  if (origin.unsent != nullptr) message.charge(origin.unsent);
  return message;
}

/// Returns how many of the first replies go to one process and are small.
std::size_t Executor::count_together(std::span<Reply const> replies) const noexcept {
  if (settings_.joined_bytes == 0) return 1;
  std::size_t count = 0;
  while (count < replies.size() && replies[count].message == nullptr &&
         replies[count].origin == replies[0].origin)
    ++count;
  return std::max<std::size_t>(count, 1);
}

/// Sends several small replies in a batch, or a single one. Returns how many replies the message contains.
std::size_t Executor::send_together(std::span<Reply> replies, std::span<std::byte const> payloads) {
  if (replies.size() != 1) return send_joined(replies, payloads);
  send_alone(replies[0], payloads);
  return 1;
}

std::size_t Executor::send_joined(std::span<Reply> replies, std::span<std::byte const> payloads) {
  Origin& origin = *replies[0].origin;
  Message& message = new_message(origin, settings_.joined_bytes);
  wire::JoinedWriter<wire::ReplyHeader> records(
      origin.session.reply, {message.payload(settings_.joined_bytes), settings_.joined_bytes});
  auto header = wire::begin_header<wire::JoinedHeader>(wire::RequestKind{});
  header.session = origin.session.reply;
  message.set_header(header);
  std::size_t sent = 0;
  for (Reply& reply : replies) {
    --origin.replies_waiting;
    complete(origin, reply.header);
    std::byte* const out = records.append(reply.header, reply.header.bytes);
    if (out == nullptr) {
      ++origin.replies_waiting;  // it goes with the next message
      break;
    }
    origin.waiting_bytes -= reply.header.bytes;
    if (reply.header.bytes != 0) std::memcpy(out, payloads.data() + reply.begin, reply.header.bytes);
    ++sent;
  }
  message.cut(records.bytes());
  send(origin, wire::MessageClass::replies, message);
  return sent;
}

void Executor::send_alone(Reply& reply, std::span<std::byte const> payloads) {
  bool const is_packed = reply.message == nullptr;
  Message& message = is_packed ? new_message(*reply.origin, reply.header.bytes) : *reply.message;
  if (is_packed && reply.header.bytes != 0)
    std::memcpy(message.payload(reply.header.bytes), payloads.data() + reply.begin, reply.header.bytes);
  reply.note_left();
  complete(*reply.origin, reply.header);
  message.set_header(reply.header);
  send(*reply.origin, wire::MessageClass::reply, message);
}

void Executor::acknowledge(Origin& origin) {
  Message& message = new_message(origin, 0);
  auto header = wire::begin_header<wire::ReplyHeader>(wire::ReplyKind::executed);
  complete(origin, header);
  message.set_header(header);
  send(origin, wire::MessageClass::reply, message);
}

/// Adds the acknowledgement of everything that is executed, once no other reply about it waits: an origin
/// that sees the acknowledgement has seen every failure before.
void Executor::complete(Origin& origin, wire::ReplyHeader& header) {
  if (origin.replies_waiting == 0) {
    origin.acknowledged = origin.executed;
    origin.owes_answer = false;
    origin.tidy();
  }
  header.session = origin.session.reply;
  header.executed = origin.acknowledged;
  header.segments_version = segments_.version();
  header.done = origin.told_done = origin.done;
  header.window = window();
  header.lock_clock = locks_.clock().now();
}

void Executor::send(Origin& origin, wire::MessageClass kind, Message& message) {
  // Its connection is not open yet, or is closed.
  if (origin.endpoint == nullptr) {
    transport_.discard(message);
  } else {
    origin.last_use = connections_.note_use();
    (void)transport_.send(origin.endpoint, kind, message);
    if (origin.unsent != nullptr) check_unsent(origin);
  }
}

/// Returns the credit of an origin: each gets the same share of the memory for operations in flight.
std::uint64_t Executor::window() const noexcept {
  std::size_t const share = settings_.memory_bytes / std::max<std::size_t>(origins_.size(), 1);
  return std::min(std::max(share, wire::first_window), settings_.window_bytes);
}

void Executor::revoke(std::uint64_t number, RemoteAddress base) {
  holders_.for_each(number, [&](std::uint64_t process) {
    wire::RequestHeader none{};
    none.token = number;
    new_reply(*origins_.at(process), wire::ReplyKind::revoke, none).header.offset = base;
  });
  answer();
}

void Executor::answer_locks() {
  look_at_holders();
  for (LockTable::Answer const& told : locks_.take_answers(lock_answers_)) {
    auto const origin = origins_.find(told.process);
    if (origin == origins_.end()) continue;
    try {
      answer_lock(*origin->second, told);
    } catch (std::bad_alloc const&) {
      connections_.lose(told.process, "no memory to tell it of its lock");
    }
  }
}

void Executor::answer_lock(Origin& origin, LockTable::Answer const& told) {
  wire::RequestHeader asked{};
  asked.token = told.token;
  if (told.position != 0) {
    end_lock_wait(origin, told);
  } else if (failed(told.status)) {
    asked.kind = wire::RequestKind::acquire;
    answer_failure(origin, asked, told.status);
  } else {
    new_reply(origin, wire::ReplyKind::executed, asked);
  }
}

void Executor::answer_query(Origin& origin, wire::CheckedRequest const& request) {
  wire::SegmentReply found{};
  std::vector<std::byte> key;
  auto const id = static_cast<ExposureId>(request.header.exposure);
  Exposure const* const exposure = segments_.exposures().find(id);
  OwnSegment const* const segment =
      segments_.find(exposure != nullptr ? exposure->base : request.header.address);
  bool const is_hidden = credentials_.exposed_only && id == ExposureId::none;
  if (is_hidden || (id != ExposureId::none && (exposure == nullptr || segment == nullptr))) {
    found.is_gap = 1;
  } else if (segment == nullptr) {
    SegmentTable::Gap const gap = segments_.gap_around(request.header.address);
    found.base = gap.begin;
    found.length = gap.end - gap.begin;
    found.is_gap = 1;
  } else {
    if (provide_key_) key = provide_key_(*segment);
    found = {segment->generation, segment->base, segment->length, key.size(), 0, 0, 0, 0, 0};
    if (!key.empty()) holders_.add(segment->generation, origin.process);
  }
  if (exposure != nullptr && segment != nullptr) {
    found.exposure = request.header.exposure;
    found.exposed_base = exposure->base;
    found.exposed_length = exposure->length;
    found.rights = static_cast<std::uint64_t>(exposure->rights);
    // Peers that can only send messages need not drop anything before the exposure ends.
    if (!credentials_.exposed_only || !key.empty()) holders_.add(request.header.exposure, origin.process);
  }
  Reply& reply = new_reply(origin, wire::ReplyKind::segment, request.header);
  reply.header.bytes = sizeof found + key.size();
  std::byte* const out = new_payload(reply, reply.header.bytes);
  std::memcpy(out, &found, sizeof found);
  if (!key.empty()) std::memcpy(out + sizeof found, key.data(), key.size());
}

}  // namespace mpixrma::engine
