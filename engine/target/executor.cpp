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

Origin* Executor::origin_of(std::uint64_t session) const noexcept {
  auto const found = sessions_.find(session);
  return found != sessions_.end() ? found->second : nullptr;
}

std::optional<std::uint64_t> Executor::process_of(std::uint64_t session) const noexcept {
  Origin const* const origin = origin_of(session);
  return origin != nullptr ? std::optional(origin->process) : std::nullopt;
}

std::uint64_t Executor::session_with(std::uint64_t process) const noexcept {
  auto const found = origins_.find(process);
  return found != origins_.end() ? found->second->session.reply : 0;
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
  if (origin.endpoint == nullptr || request.header.after > origin.executed) {
    if (origin.endpoint != nullptr && must_not_wait(request))
      return answer_busy(origin, request, payload.size());
    if (!has_room(origin, payload.size()))
      return refuse(origin, request.header, payload.size(), Status::out_of_memory);
    std::uint64_t const after = must_not_wait(request) ? 0 : request.header.after;
    HeldRequests& held = origin.make_out_of_order().held;
    return note_kept(origin, held.add(sequence, after, Kept(header, payload)));
  }
  receive(origin, request, header, payload);
  release_held(origin);
}

/// An unauthenticated peer may send only a handshake.
void Executor::take_from_stranger(std::uint64_t token, std::span<std::byte const> header,
                                  std::span<std::byte const> payload) {
  if (ended_.contain(token)) return;  // left behind by an ended process
  wire::CheckedRequest request{};
  char const* fault = token != 0 ? "its session does not exist" : wire::check(header, payload, &request);
  if (fault == nullptr && request.header.kind != static_cast<std::uint8_t>(wire::RequestKind::introduction))
    fault = "it does not belong to a session";
  if (fault == nullptr) fault = take_introduction(request.data);
  if (fault != nullptr) drops_.note(fault);
}

/// Returns the error of the handshake, or nullptr. The connection back is opened later, outside of the
/// callback that this function is called from.
char const* Executor::take_introduction(std::span<std::byte const> data) {
  Introduction said;
  std::optional<Secret> const secret = credentials_.secret_of(target_of(data));
  if (!secret) return "a handshake with another process";
  if (!read_introduction(*secret, data, &said)) return "a handshake without a valid proof";
  SessionOpening const& opening = said.opening;
  ProcessAddress address;
  if (!decode(said.address, &address) || address.process != opening.origin ||
      address.incarnation != opening.origin_incarnation)
    return "a handshake that does not match its sender";
  if (worker_for(address.process, executors_) != place_) return "a handshake on the wrong channel";
  introductions_.reserve(introductions_.size() +
                         1);  // reserve first: recording an admitted peer must not throw
  address.process = name_of(opening);
  if (char const* const fault = admit(opening, *secret); fault != nullptr) return fault;
  introductions_.push_back(std::move(address));
  return nullptr;
}

/// Returns the identity by which an origin is known here. Origins of several jobs may have equal identities,
/// but never equal nonces; an origin with several sessions counts as one process per session. The highest bit
/// preserves the order in which both sides see each other (Parting::hear): jobs assign smaller identities
/// than processes that serve several jobs.
std::uint64_t Executor::name_of(SessionOpening const& opening) const noexcept {
  if (!credentials_.exposed_only) return opening.origin;
  std::uint64_t name = 0;
  std::memcpy(&name, opening.nonce.data(), sizeof name);
  if (opening.target != credentials_.process) name ^= opening.target * 0x9e3779b97f4a7c15u;
  return name & ~(std::uint64_t{1} << 63);
}

/// Creates the origin of a verified handshake. Each handshake is accepted once.
char const* Executor::admit(SessionOpening const& opening, Secret const& secret) {
  std::uint64_t const name = name_of(opening);
  if (gone_.contain(name, opening.origin_incarnation)) return "a handshake of an ended process";
  SessionTokens const session = tokens_of(secret, opening);
  auto const known = origins_.find(name);
  if (known == origins_.end()) {
    auto made = std::make_unique<Origin>();
    made->process = name;
    made->incarnation = opening.origin_incarnation;
    made->target = opening.target;
    made->connection = opening.connection;
    made->session = session;
    if (!sessions_.emplace(session.request, made.get()).second) return "a session that exists already";
    origins_.emplace(name, std::move(made));
    expect_sealed(opening, secret);
    return nullptr;
  }
  Origin& origin = *known->second;
  if (origin.session != session) return "a handshake of another process with the same identity";
  if (opening.connection <= origin.connection) return "a replayed handshake";
  if (origin.endpoint != nullptr) {
    Connections::Connection const* const connection = connections_.find(name);
    if (connection == nullptr || connection->asked == 0) return "its origin is connected already";
    // It has agreed to close the last connection; its answer may come later.
    connections_.note_farewell(name, wire::Farewell::agree, connection->asked, true);
  }
  origin.connection = opening.connection;
  expect_sealed(opening, secret);
  return nullptr;
}

/// Messages that follow the handshake arrive before the connection back is opened.
void Executor::expect_sealed(SessionOpening const& opening, Secret const& secret) {
  if (!credentials_.encrypt) return;
  SealKeys const keys = seal_keys_of(secret, opening);
  transport_.seals().expect(name_of(opening), keys.requests, keys.replies);
}

void Executor::meet_introduced() {
  std::vector<ProcessAddress> arrived = std::exchange(introductions_, {});
  for (ProcessAddress& address : arrived) {
    std::uint64_t const process = address.process;
    auto const known = origins_.find(process);
    if (known == origins_.end() || known->second->endpoint != nullptr) continue;
    Origin& origin = *known->second;
    Location location = connections_.locate(address);
    // The origin expects replies on the worker for the identity by which it knows this process.
    location.worker = address.workers[worker_for(origin.target, address.workers.size())];
    ucp_ep_h const endpoint = connections_.open(process, location);
    if (endpoint == nullptr) {
      forget(process);
    } else {
      transport_.seals().begin(process, endpoint);  // before anything is sent there
      origin.endpoint = endpoint;
      release_held(origin);
    }
  }
}

/// A legitimate origin that respects its credit always finds room.
bool Executor::has_room(Origin const& origin, std::size_t payload_bytes) const noexcept {
  std::size_t const one = 2 * (settings_.window_bytes + settings_.fragment_bytes) + (std::size_t{1} << 20);
  std::size_t const all =
      settings_.memory_bytes + origins_.size() * (settings_.fragment_bytes + (128u << 10));
  std::size_t const bytes = Kept::footprint(payload_bytes);
  return origin.kept_bytes + bytes <= one && kept_bytes_ + bytes <= all;
}

void Executor::note_kept(Origin& origin, Kept const& kept) noexcept {
  origin.kept_bytes += kept.footprint();
  kept_bytes_ += kept.footprint();
}

void Executor::note_released(Origin& origin, Kept const& kept) noexcept {
  origin.kept_bytes -= kept.footprint();
  kept_bytes_ -= kept.footprint();
}

/// Consumes the request's position in the stream without executing it.
void Executor::refuse(Origin& origin, wire::RequestHeader const& header, std::size_t payload_bytes,
                      Status status) {
  answer_failure(origin, header, status);
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
  Status const resolved = resolve(request);
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
  deferred_.push_back({&origin, Kept(header, payload), std::move(hold)});
  note_kept(origin, deferred_.back().kept);
}

/// The origin will resend the request.
void Executor::answer_busy(Origin& origin, wire::CheckedRequest const& request, std::size_t payload_bytes) {
  origin.done += wire::cost_of(request.header, payload_bytes);
  new_reply(origin, wire::ReplyKind::busy, request.header);
}

void Executor::retry_deferred() {
  for (auto it = deferred_.begin(); it != deferred_.end();) {
    if (!it->hold.acquire()) {
      ++it;
      continue;
    }
    Deferred ready = std::move(*it);
    it = deferred_.erase(it);
    note_released(*ready.origin, ready.kept);
    wire::CheckedRequest request{};
    (void)wire::check(ready.kept.header(), ready.kept.payload(), &request);  // it passed when it arrived
    ready.origin->make_out_of_order().deferred.erase(request.header.sequence);
    Status const resolved = resolve(request);  // again, because an exposure may be gone
    perform(*ready.origin, request, std::move(ready.hold), ready.kept.payload().size(), resolved);
    release_held(*ready.origin);
  }
}

/// The required stripes are held. `resolved`: a failure that is known already.
void Executor::perform(Origin& origin, wire::CheckedRequest const& request, StripeHold hold,
                       std::size_t payload_bytes, Status resolved) {
  wire::RequestHeader const& header = request.header;
  std::uint64_t const cost = wire::cost_of(header, payload_bytes);
  if (static_cast<wire::RequestKind>(header.kind) == wire::RequestKind::lock) {
    origin.make_out_of_order().locks[header.token] = {std::move(hold), header.total};
    new_reply(origin, wire::ReplyKind::granted, header);
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
  execute_or_fail(origin, request, resolved);
  bool ended = header.offset + header.bytes == header.total;
  if (HeldLock* const lock = origin.lock_of(header.token)) {
    lock->rest -= std::min(lock->rest, header.bytes);
    ended = lock->rest == 0;
    if (ended) origin.out_of_order()->locks.erase(header.token);
  }
  note_executed(origin, header, cost);
  // The acknowledgement of the stream may wait for an earlier request, and that for stripes that the origin
  // holds for this operation.
  if ((header.flags & wire::flag_tell) != 0 && ended) new_reply(origin, wire::ReplyKind::executed, header);
}

/// Requests behind the lock request continue, whatever its result. Only if there was no memory for it they
/// must not: they would be executed without a lock that others hold.
void Executor::end_lock_wait(Origin& origin, LockTable::Answer const& told) {
  OutOfOrder* const rest = origin.out_of_order();
  if (rest == nullptr || rest->lock != told.position) return;
  if (told.status == Status::out_of_memory)
    return connections_.lose(origin.process, "no memory for its lock request");
  rest->lock = 0;
  auto asked = wire::begin_header<wire::RequestHeader>(wire::RequestKind::acquire);
  asked.sequence = told.position;
  // Requests executed ahead of it have been acknowledged, and are reported with it.
  asked.flags = rest->ahead.empty() ? wire::flag_quiet : 0;
  asked.context = static_cast<std::uint32_t>(told.token);
  if (failed(told.status)) answer_failure(origin, asked, told.status);
  note_executed(origin, asked, wire::cost_of(asked, 0));
  release_held(origin);
}

void Executor::note_executed(Origin& origin, wire::RequestHeader const& header, std::uint64_t cost) {
  ++executed_;
  ++origin.messages;
  origin.done += cost;
  take_position(origin, header.sequence);
  bool const quiet = (header.flags & wire::flag_quiet) != 0;
  if (!quiet || origin.done - origin.told_done >= wire::most_quiet) owe(origin);
}

void Executor::take_position(Origin& origin, std::uint64_t sequence) {
  if (sequence == origin.executed + 1) {
    ++origin.executed;
    OutOfOrder* const rest = origin.out_of_order();
    while (rest != nullptr && !rest->ahead.empty() && *rest->ahead.begin() == origin.executed + 1) {
      rest->ahead.erase(rest->ahead.begin());
      ++origin.executed;
    }
  } else {
    origin.make_out_of_order().ahead.insert(sequence);
  }
}

void Executor::release_held(Origin& origin) {
  OutOfOrder* const rest = origin.out_of_order();
  if (origin.endpoint == nullptr || rest == nullptr) return;
  // Executing a request may unblock the next buffered one.
  while (std::optional<Kept> const kept = rest->held.take(origin.executed)) {
    note_released(origin, *kept);
    wire::CheckedRequest request{};
    (void)wire::check(kept->header(), kept->payload(), &request);  // it passed when it arrived
    if (request.header.after > origin.executed) {
      answer_busy(origin, request, kept->payload().size());  // it must not wait
    } else {
      receive(origin, request, kept->header(), kept->payload());
    }
  }
}

void Executor::forget(std::uint64_t process) {
  auto const found = origins_.find(process);
  if (found == origins_.end()) {
    gone_.add(process, EndedOrigins::any_incarnation, 0);
    return;
  }
  Origin* const gone = found->second.get();
  gone_.add(process, gone->incarnation, gone->messages);
  sessions_.erase(gone->session.request);
  ended_.add(gone->session.request);
  std::erase_if(replies_, [&](Reply const& reply) {
    if (reply.origin == gone && reply.message != nullptr) transport_.discard(*reply.message);
    return reply.origin == gone;
  });
  std::erase(owing_, gone);
  sending_.forget(gone, transport_);
  locks_.forget(process, lock_answers_);
  std::erase_if(deferred_, [&](Deferred const& deferred) { return deferred.origin == gone; });
  forget_holder_of_all(process);
  kept_bytes_ -= gone->kept_bytes;
  std::uint64_t const session = gone->target;
  origins_.erase(found);
  transport_.seals().forget_expected(process);
  if (credentials_.encrypt) retire_session(session);
}

/// A session whose connection was lost accepts no further handshake, because its recorded messages could be
/// replayed.
void Executor::retire_session(std::uint64_t session) {
  auto const is_of_it = [=](auto const& entry) { return entry.second->target == session; };
  if (credentials_.sessions != nullptr && std::none_of(origins_.begin(), origins_.end(), is_of_it))
    credentials_.sessions->retire(session);
}

std::vector<std::uint64_t> Executor::end_session(std::uint64_t session) {
  std::vector<std::uint64_t> ended;
  for (auto const& [process, origin] : origins_) {
    if (origin->target == session) ended.push_back(process);
  }
  for (std::uint64_t const process : ended) forget(process);
  return ended;
}

bool Executor::is_idle(std::uint64_t process) const noexcept {
  auto const found = origins_.find(process);
  return (found == origins_.end() || found->second->is_idle()) && !has_locks(process);
}

std::uint64_t Executor::last_use(std::uint64_t process) const noexcept {
  auto const found = origins_.find(process);
  return found != origins_.end() ? found->second->last_use : 0;
}

void Executor::part(std::uint64_t process) noexcept {
  auto const found = origins_.find(process);
  if (found == origins_.end()) return;
  found->second->endpoint = nullptr;
  forget_holder_of_all(process);
}

std::uint64_t Executor::executed_for(std::uint64_t process) const {
  auto const present = origins_.find(process);
  return gone_.messages_of(process) + (present != origins_.end() ? present->second->messages : 0);
}

}  // namespace mpixrma::engine
