#include "engine/agent/executor.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/atomic/backoff.hpp"
#include "engine/log.hpp"

namespace mpix::engine {

namespace {

// Requests that an origin may have waiting for earlier ones; beyond that it is not one of ours.
constexpr std::size_t max_held = 65536;

}  // namespace

void Executor::on_request(std::span<std::byte const> header, std::span<std::byte const> payload,
                          ucp_ep_h reply) noexcept {
  if (reinterpret_cast<std::uintptr_t>(payload.data()) % alignof(std::uint64_t) != 0) {
    aligned_.resize(payload.size() / sizeof(std::uint64_t) + 1);
    std::memcpy(aligned_.data(), payload.data(), payload.size());
    payload = {reinterpret_cast<std::byte const*>(aligned_.data()), payload.size()};
  }
  wire::CheckedRequest request{};
  if (char const* const fault = wire::check(header, payload, &request)) {
    ++dropped_;
    log(LogLevel::error, "dropped a request: %s", fault);
    return;
  }
  Origin& origin = origin_of(request.header.process, reply);
  std::uint64_t const sequence = request.header.sequence;
  bool const seen = sequence <= origin.executed || origin.ahead.contains(sequence) ||
                    origin.held.contains(sequence) || origin.deferred.contains(sequence);
  bool const too_many =
      origin.held.size() >= max_held || origin.ahead.size() >= max_held || origin.deferred.size() >= max_held;
  if (seen || too_many) {
    ++dropped_;
    log(LogLevel::error, "dropped a request: position %llu of the stream is taken",
        static_cast<unsigned long long>(sequence));
    return;
  }
  if (request.header.after > origin.executed && (request.header.flags & wire::flag_no_wait) != 0) {
    new_reply(origin, wire::ReplyKind::busy, request);
    return;
  }
  if (request.header.after > origin.executed) {
    origin.held.emplace(sequence, keep(header, payload));
    return;
  }
  receive(origin, request, header, payload);
  release_held(origin);
}

Executor::Origin& Executor::origin_of(std::uint64_t process, ucp_ep_h reply) {
  auto& origin = origins_[process];
  if (!origin) {
    origin = std::make_unique<Origin>();
    origin->process = process;
  }
  origin->reply = reply;
  return *origin;
}

Executor::Kept Executor::keep(std::span<std::byte const> header, std::span<std::byte const> payload) {
  Kept kept;
  kept.header.assign(header.begin(), header.end());
  kept.payload = std::make_unique_for_overwrite<std::uint64_t[]>(payload.size() / sizeof(std::uint64_t) + 1);
  kept.payload_bytes = payload.size();
  std::memcpy(kept.payload.get(), payload.data(), payload.size());
  return kept;
}

/// Executes the request as soon as its stripes are free: now, later, or when the origin asks again.
void Executor::receive(Origin& origin, wire::CheckedRequest const& request, std::span<std::byte const> header,
                       std::span<std::byte const> payload) {
  constexpr int short_spins = 64;
  StripeSets const stripes = stripes_for(request);
  if (stripes.empty()) return perform(origin, request, {});
  StripeHold hold(segments_.stripes(), stripes);
  for (int spins = 0; spins < short_spins; ++spins) {
    if (hold.acquire()) return perform(origin, request, std::move(hold));
    cpu_relax();
  }
  if ((request.header.flags & wire::flag_no_wait) != 0) {
    new_reply(origin, wire::ReplyKind::busy, request);
    return;
  }
  origin.deferred.insert(request.header.sequence);
  deferred_.push_back({&origin, keep(header, payload), std::move(hold)});
}

void Executor::retry_deferred() {
  for (auto it = deferred_.begin(); it != deferred_.end();) {
    if (!it->hold.acquire()) {
      ++it;
      continue;
    }
    Deferred ready = std::move(*it);
    it = deferred_.erase(it);
    wire::CheckedRequest request{};
    (void)wire::check(ready.kept.header, ready.kept.data(), &request);  // it passed when it arrived
    ready.origin->deferred.erase(request.header.sequence);
    perform(*ready.origin, request, std::move(ready.hold));
    release_held(*ready.origin);
  }
}

/// The stripes, if any, are held.
void Executor::perform(Origin& origin, wire::CheckedRequest const& request, StripeHold hold) {
  wire::RequestHeader const& header = request.header;
  if (static_cast<wire::RequestKind>(header.kind) == wire::RequestKind::lock) {
    origin.locks[header.token] = {std::move(hold), header.total};
    new_reply(origin, wire::ReplyKind::granted, request);
    note_executed(origin, header.sequence);
    return;
  }
  Status const status = execute(origin, request);
  if (failed(status)) {
    Reply& reply = new_reply(origin, wire::ReplyKind::failed, request);
    reply.header.status = static_cast<std::uint8_t>(status);
    reply.header.offset = header.bytes;
  }
  count(origin, request, failed(status));
  bool ended = header.offset + header.bytes == header.total;
  if (auto const lock = origin.locks.find(header.token); lock != origin.locks.end()) {
    lock->second.rest -= std::min(lock->second.rest, header.bytes);
    ended = lock->second.rest == 0;
    if (ended) origin.locks.erase(lock);
  }
  note_executed(origin, header.sequence);
  // The acknowledgement of the stream may have to wait for an earlier request, and that for stripes which
  // the origin holds for this operation.
  if ((header.flags & wire::flag_tell) != 0 && ended) new_reply(origin, wire::ReplyKind::executed, request);
}

void Executor::note_executed(Origin& origin, std::uint64_t sequence) {
  ++executed_;
  if (sequence == origin.executed + 1) {
    ++origin.executed;
    while (!origin.ahead.empty() && *origin.ahead.begin() == origin.executed + 1) {
      origin.ahead.erase(origin.ahead.begin());
      ++origin.executed;
    }
  } else {
    origin.ahead.insert(sequence);
  }
  owe(origin);
}

void Executor::release_held(Origin& origin) {
  // Whatever runs may let the next one run.
  for (auto it = origin.held.begin(); it != origin.held.end();) {
    wire::CheckedRequest request{};
    Kept const& kept = it->second;
    (void)wire::check(kept.header, kept.data(), &request);  // it passed when it arrived
    if (request.header.after > origin.executed) {
      ++it;
      continue;
    }
    receive(origin, request, kept.header, kept.data());
    origin.held.erase(it);
    it = origin.held.begin();
  }
}

void Executor::owe(Origin& origin) {
  if (origin.owes_answer) return;
  origin.owes_answer = true;
  owing_.push_back(&origin);
}

Executor::Reply& Executor::new_reply(Origin& origin, wire::ReplyKind kind,
                                     wire::CheckedRequest const& request) {
  Reply reply{&origin, {}, &transport_.message()};
  reply.header.magic = wire::magic;
  reply.header.version = wire::version;
  reply.header.kind = static_cast<std::uint8_t>(kind);
  reply.header.context = request.header.context;
  reply.header.process = process_;
  reply.header.token = request.header.token;
  replies_.push_back(reply);
  ++origin.replies_waiting;
  return replies_.back();
}

void Executor::answer() {
  // To a process itself UCX delivers inside of the send: the answer may lead to the next request, and
  // that to the next answer, while this one is being sent.
  while (!replies_.empty() || !owing_.empty()) {
    std::vector<Reply> replies;
    std::vector<Origin*> owing;
    replies.swap(replies_);
    owing.swap(owing_);
    for (Reply const& reply : replies) {
      --reply.origin->replies_waiting;
      send(*reply.origin, reply.header, *reply.message);
    }
    for (Origin* const origin : owing) {
      if (origin->owes_answer) acknowledge(*origin);
    }
  }
}

void Executor::acknowledge(Origin& origin) {
  wire::ReplyHeader header{};
  header.magic = wire::magic;
  header.version = wire::version;
  header.kind = static_cast<std::uint8_t>(wire::ReplyKind::executed);
  header.process = process_;
  send(origin, header, transport_.message());
}

/// With the acknowledgement of everything that is executed, once nothing else that has to be told of it
/// waits: an origin that sees it has seen every failure before.
void Executor::send(Origin& origin, wire::ReplyHeader header, Message& message) {
  if (origin.replies_waiting == 0) {
    origin.acknowledged = origin.executed;
    origin.owes_answer = false;
  }
  header.executed = origin.acknowledged;
  header.segments_version = segments_version_;
  message.set_header(header);
  (void)transport_.send(origin.reply, wire::Channel::reply, message, false);
}

void Executor::revoke(RemoteAddress base) {
  withdrawn_.insert(base);
  auto const found = holders_.find(base);
  if (found == holders_.end()) return;
  for (std::uint64_t const process : found->second) {
    wire::CheckedRequest none{};
    none.header.token = base;
    new_reply(*origins_.at(process), wire::ReplyKind::revoke, none);
  }
  answer();
}

void Executor::forget_holder(Origin const& origin, RemoteAddress base) {
  auto const found = holders_.find(base);
  if (found == holders_.end()) return;
  found->second.erase(origin.process);
  if (found->second.empty()) holders_.erase(found);
}

void Executor::answer_query(Origin& origin, wire::CheckedRequest const& request) {
  wire::SegmentReply found{};
  std::vector<std::byte> key;
  OwnSegment const* const segment = segments_.find(request.header.address);
  if (segment == nullptr) {
    SegmentTable::Gap const gap = segments_.gap_around(request.header.address);
    found = {gap.begin, gap.end - gap.begin, 0, 1};
  } else {
    // Nobody gets a key that others are just asked to give back.
    if (provide_key_ && !withdrawn_.contains(segment->base)) key = provide_key_(*segment);
    found = {segment->base, segment->length, key.size(), 0};
    if (!key.empty()) holders_[segment->base].insert(origin.process);
  }
  Reply& reply = new_reply(origin, wire::ReplyKind::segment, request);
  reply.header.bytes = sizeof found + key.size();
  std::byte* const out = reply.message->payload(reply.header.bytes);
  std::memcpy(out, &found, sizeof found);
  if (!key.empty()) std::memcpy(out + sizeof found, key.data(), key.size());
}

}  // namespace mpix::engine
