/// Executor: the order in which requests are executed.
#include "engine/target/executor.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "engine/base/backoff.hpp"
#include "engine/net/joined.hpp"

namespace mpixrma::engine {

namespace {

bool must_not_wait(wire::CheckedRequest const& request) noexcept {
  return (request.header.flags & wire::flag_no_wait) != 0;
}

}  // namespace

void Executor::on_message(wire::MessageClass kind, std::span<std::byte const> header,
                          std::span<std::byte const> payload) noexcept {
  bool const joined = kind == wire::MessageClass::requests;
  FaultScope const faults;  // UCX delivers a message to this process itself within the send
  try {
    joined ? take_joined(header, aligned(payload)) : take(header, aligned(payload));
  } catch (std::bad_alloc const&) {
    drops_.note("no memory to take it");
    std::uint64_t const session = joined ? wire::joined_session_of(header) : wire::session_of(header);
    if (Origin const* const origin = origin_of(session); origin != nullptr)
      connections_.lose(origin->process, "no memory for its requests");
  }
}

/// Returns the payload at an 8-byte-aligned address, valid until the next message.
std::span<std::byte const> Executor::aligned(std::span<std::byte const> payload) {
  if (reinterpret_cast<std::uintptr_t>(payload.data()) % alignof(std::uint64_t) == 0) return payload;
  aligned_.resize(payload.size() / sizeof(std::uint64_t) + 1);
  std::memcpy(aligned_.data(), payload.data(), payload.size());
  return {reinterpret_cast<std::byte const*>(aligned_.data()), payload.size()};
}

void Executor::take(std::span<std::byte const> header, std::span<std::byte const> payload) {
  std::uint64_t const session = wire::session_of(header);
  if (Origin* const origin = origin_of(session); origin != nullptr) {
    take_in_session(*origin, header, payload);
  } else {
    take_from_stranger(session, header, payload);
  }
}

void Executor::take_in_session(Origin& origin, std::span<std::byte const> header,
                               std::span<std::byte const> payload) {
  wire::CheckedRequest request{};
  char const* const fault = wire::check(header, payload, &request);
  if (fault != nullptr && !wire::is_answerable(header, &request.header)) return drops_.note(fault);
  std::uint64_t const sequence = request.header.sequence;
  if (origin.has_seen(sequence) || !origin.has_place_for(sequence))
    return drops_.note("its stream position is taken, or too many requests are out of order");
  if (fault != nullptr) {
    drops_.note(fault);
    return refuse(origin, request.header, payload.size(), Status::malformed);
  }
  bool const is_full = !may_answer(origin, request.header);
  if (origin.endpoint == nullptr || is_full || request.header.after > origin.executed) {
    if (origin.endpoint != nullptr && !is_full && must_not_wait(request))
      return answer_busy(origin, request, payload.size());
    if (!has_room(origin, payload.size())) {
      // Refusals are answers, too.
      if (is_full) return end(origin, SessionEnd::answers_not_taken);
      return refuse(origin, request.header, payload.size(), Status::out_of_memory);
    }
    if (is_full) wait_for_answers(origin);
    return hold(origin, KeptRequest(request, payload));
  }
  receive(origin, request, header, payload);
  release_held(origin);
}

void Executor::hold(Origin& origin, KeptRequest kept) {
  wire::RequestHeader const& header = kept.request().header;
  std::uint64_t const after = must_not_wait(kept.request()) ? 0 : header.after;
  HeldRequests& held = origin.make_out_of_order().held;
  note_kept(origin, held.add(header.sequence, after, std::move(kept)));
}

/// An origin of ours that keeps to its credit needs less.
std::size_t Executor::max_buffered_bytes() const noexcept {
  return 2 * (settings_.credit_bytes + settings_.fragment_bytes) + (std::size_t{1} << 20);
}

bool Executor::has_room(Origin const& origin, std::size_t payload_bytes) const noexcept {
  std::size_t const all =
      settings_.memory_bytes + origins_.size() * (settings_.fragment_bytes + (128u << 10));
  std::size_t const bytes = KeptRequest::footprint(payload_bytes);
  return origin.kept_bytes + bytes <= max_buffered_bytes() && kept_bytes_ + bytes <= all;
}

void Executor::note_kept(Origin& origin, KeptRequest const& kept) noexcept {
  origin.kept_bytes += kept.footprint();
  kept_bytes_ += kept.footprint();
}

void Executor::note_released(Origin& origin, KeptRequest const& kept) noexcept {
  origin.kept_bytes -= kept.footprint();
  kept_bytes_ -= kept.footprint();
}

/// For an entry of OutOfOrder, which an origin may leave there for good. False: there is no room for it.
bool Executor::add_entry(Origin& origin) noexcept {
  if (!has_room(origin, 0)) return false;
  origin.kept_bytes += OutOfOrder::bytes_of_entry;
  kept_bytes_ += OutOfOrder::bytes_of_entry;
  return true;
}

void Executor::remove_entry(Origin& origin) noexcept {
  origin.kept_bytes -= OutOfOrder::bytes_of_entry;
  kept_bytes_ -= OutOfOrder::bytes_of_entry;
}

/// Takes the request's position of the stream without executing it.
void Executor::refuse(Origin& origin, wire::RequestHeader const& header, std::size_t payload_bytes,
                      Status status) {
  replies_.add_failure(origin, header, status);
  note_executed(origin, header, wire::cost_of(header, payload_bytes));
}

/// Returns true if all stripes are acquired.
bool Executor::acquire_shortly(StripeHold& hold) noexcept {
  constexpr int short_spins = 64;
  for (int spins = 0; spins < short_spins; ++spins) {
    if (hold.acquire()) return true;
    cpu_relax();
  }
  return false;
}

/// Executes the request as soon as its stripes are free: now, later, or when the origin resends it.
void Executor::receive(Origin& origin, wire::CheckedRequest& request, std::span<std::byte const> header,
                       std::span<std::byte const> payload) {
  Status const resolved = memory_.resolve(request);
  StripeSets const stripes =
      failed(resolved) ? StripeSets{} : stripes_for(request, segments_.stripes().modes);
  if (stripes.empty()) return perform(origin, request, {}, payload.size(), resolved);
  bool const moves = wire::moves_data(request.header);
  if (!moves || !neighbours_.covers(stripes)) neighbours_.release();
  if (neighbours_.holds()) return perform(origin, request, {}, payload.size(), Status::ok);
  StripeHold hold(segments_.stripes(), stripes);
  if (acquire_shortly(hold)) {
    if (moves) neighbours_.offer(stripes, hold);
    return perform(origin, request, std::move(hold), payload.size(), Status::ok);
  }
  if (must_not_wait(request)) return answer_busy(origin, request, payload.size());
  if (!has_room(origin, payload.size()))
    return refuse(origin, request.header, payload.size(), Status::out_of_memory);
  origin.make_out_of_order().deferred.insert(request.header.sequence);
  // As it has arrived: an exposure may be gone when the stripes are free.
  std::memcpy(&request.header, header.data(), sizeof request.header);
  deferred_.push_back({&origin, KeptRequest(request, payload), std::move(hold)});
  note_kept(origin, deferred_.back().kept);
}

/// The origin will resend the request.
void Executor::answer_busy(Origin& origin, wire::CheckedRequest const& request, std::size_t payload_bytes) {
  origin.done += wire::cost_of(request.header, payload_bytes);
  replies_.add(origin, wire::ReplyKind::busy, request.header);
}

void Executor::retry_deferred() {
  for (auto it = deferred_.begin(); it != deferred_.end();) {
    if (!may_answer(*it->origin, it->kept.request().header) || !it->hold.acquire()) {
      ++it;
      continue;
    }
    Deferred ready = std::move(*it);
    it = deferred_.erase(it);
    note_released(*ready.origin, ready.kept);
    wire::CheckedRequest request = ready.kept.request();
    ready.origin->make_out_of_order().deferred.erase(request.header.sequence);
    Status const resolved = memory_.resolve(request);  // again, because an exposure may be gone
    perform(*ready.origin, request, std::move(ready.hold), ready.kept.payload().size(), resolved);
    release_held(*ready.origin);
  }
}

/// The required stripes are held. `resolved`: a failure that is known already.
void Executor::perform(Origin& origin, wire::CheckedRequest const& request, StripeHold hold,
                       std::size_t payload_bytes, Status resolved) {
  wire::RequestHeader const& header = request.header;
  std::uint64_t const cost = wire::cost_of(header, payload_bytes);
  if (header.kind == wire::RequestKind::lock) {
    OutOfOrder& rest = origin.make_out_of_order();
    if (!rest.locks.contains(header.token) && !add_entry(origin))
      return refuse(origin, header, payload_bytes, Status::out_of_memory);
    rest.locks[header.token] = {std::move(hold), header.total};
    replies_.add(origin, wire::ReplyKind::granted, header);
    note_executed(origin, header, cost);
    return;
  }
  if (wire::locks_in_stream(header)) {
    OutOfOrder& rest = origin.make_out_of_order();
    // Legitimate requests are ordered behind the lock that they wait for.
    if (rest.lock != 0) return refuse(origin, header, payload_bytes, Status::malformed);
    rest.lock = header.sequence;
    return acquire_lock(origin, header);
  }
  std::uint64_t const began = trace_.begin();
  execute_or_fail(origin, request, resolved);
  trace_.add(began, header, {origin.process, Path::message, 1, header.bytes});
  bool ended = header.offset + header.bytes == header.total;
  if (HeldLock* const lock = origin.lock_of(header.token)) {
    lock->rest -= std::min(lock->rest, header.bytes);
    ended = lock->rest == 0;
    if (ended) {
      origin.out_of_order()->locks.erase(header.token);
      remove_entry(origin);
    }
  }
  note_executed(origin, header, cost);
  // The acknowledgement of the stream may wait for an earlier request, and that for stripes that the origin
  // holds for this operation.
  if ((header.flags & wire::flag_separate_reply) != 0 && ended)
    replies_.add(origin, wire::ReplyKind::executed, header);
}

/// Requests behind the lock request continue, whatever its result. Only if there was no memory for it they
/// must not: they would be executed without a lock that others hold.
void Executor::end_lock_wait(Origin& origin, LockTable::Answer const& answer) {
  OutOfOrder* const rest = origin.out_of_order();
  if (rest == nullptr || rest->lock != answer.position) return;
  if (answer.status == Status::out_of_memory)
    return connections_.lose(origin.process, "no memory for its lock request");
  rest->lock = 0;
  auto asked = wire::begin_header<wire::RequestHeader>(wire::RequestKind::acquire);
  asked.sequence = answer.position;
  // Requests executed ahead of it have been acknowledged, and are reported with it.
  asked.flags = rest->ahead.empty() ? wire::flag_quiet : 0;
  asked.context = static_cast<std::uint32_t>(answer.token);
  if (failed(answer.status)) replies_.add_failure(origin, asked, answer.status);
  note_executed(origin, asked, wire::cost_of(asked, 0));
  release_held(origin);
}

void Executor::note_executed(Origin& origin, wire::RequestHeader const& header, std::uint64_t cost) {
  ++executed_;
  ++origin.messages;
  origin.done += cost;
  take_position(origin, header.sequence);
  bool const quiet = (header.flags & wire::flag_quiet) != 0;
  if (!quiet || origin.done - origin.reported_done >= wire::max_unacked_bytes) replies_.owe(origin);
}

void Executor::take_position(Origin& origin, std::uint64_t sequence) {
  if (sequence == origin.executed + 1) {
    ++origin.executed;
    OutOfOrder* const rest = origin.out_of_order();
    while (rest != nullptr && !rest->ahead.empty() && *rest->ahead.begin() == origin.executed + 1) {
      rest->ahead.erase(rest->ahead.begin());
      remove_entry(origin);
      ++origin.executed;
    }
  } else {
    if (!add_entry(origin))
      return connections_.lose(origin.process, "no room for the positions of its stream");
    origin.make_out_of_order().ahead.insert(sequence);
  }
}

void Executor::release_held(Origin& origin) {
  OutOfOrder* const rest = origin.out_of_order();
  if (origin.endpoint == nullptr || rest == nullptr) return;
  // Executing a request may unblock the next one.
  while (KeptRequest const* const next = rest->held.next(origin.executed)) {
    if (!may_answer(origin, next->request().header)) return wait_for_answers(origin);
    KeptRequest const kept = rest->held.take_next();
    note_released(origin, kept);
    wire::CheckedRequest request = kept.request();
    if (request.header.after > origin.executed) {
      answer_busy(origin, request, kept.payload().size());  // it must not wait
    } else {
      receive(origin, request, std::as_bytes(std::span(&kept.request().header, 1)), kept.payload());
    }
  }
}

}  // namespace mpixrma::engine
