/// Executor: which request may be executed when.
#include "engine/agent/executor.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "engine/atomic/backoff.hpp"

namespace mpix::engine {

namespace {

// Positions beyond what is executed that an origin may use; an origin of ours stays far below.
constexpr std::uint64_t furthest_ahead = 65536;
// Processes that have sent something and not introduced themselves; one of ours begins with it.
constexpr std::size_t max_strangers = 64;

bool must_not_wait(wire::CheckedRequest const& request) noexcept {
  return (request.header.flags & wire::flag_no_wait) != 0;
}

}  // namespace

void Executor::on_request(std::span<std::byte const> header, std::span<std::byte const> payload) noexcept {
  try {
    take(header, payload);
  } catch (std::bad_alloc const&) {
    wire::RequestHeader fields{};
    drop("no memory to take it");
    if (wire::is_answerable(header, &fields)) connections_.lose(fields.process, "no memory for its requests");
  }
}

void Executor::drop(char const* reason) noexcept {
  ++dropped_;
  log_.write(LogLevel::error, "dropped a request: %s", reason);
}

void Executor::take(std::span<std::byte const> header, std::span<std::byte const> payload) {
  if (reinterpret_cast<std::uintptr_t>(payload.data()) % alignof(std::uint64_t) != 0) {
    aligned_.resize(payload.size() / sizeof(std::uint64_t) + 1);
    std::memcpy(aligned_.data(), payload.data(), payload.size());
    payload = {reinterpret_cast<std::byte const*>(aligned_.data()), payload.size()};
  }
  wire::CheckedRequest request{};
  char const* const fault = wire::check(header, payload, &request);
  if (fault != nullptr && !wire::is_answerable(header, &request.header)) return drop(fault);
  if (fault == nullptr && request.header.sequence == 0) return take_introduction(request);

  Origin* const origin = origin_of(request.header.process);
  if (origin == nullptr && gone_.contains(request.header.process)) return;  // what it has left behind
  if (origin == nullptr) return drop("its origin has not introduced itself");
  std::uint64_t const sequence = request.header.sequence;
  if (sequence > origin->executed + furthest_ahead || origin->has_seen(sequence))
    return drop("its position of the stream is taken, or far off");
  if (fault != nullptr) {
    drop(fault);
    return refuse(*origin, request.header, payload.size(), Status::malformed);
  }
  if (origin->endpoint == nullptr || request.header.after > origin->executed) {
    if (origin->endpoint != nullptr && must_not_wait(request))
      return answer_busy(*origin, request, payload.size());
    if (!has_room(*origin, payload.size()))
      return refuse(*origin, request.header, payload.size(), Status::out_of_memory);
    note_kept(*origin,
              origin->make_out_of_order().held.emplace(sequence, Kept(header, payload)).first->second);
    return;
  }
  receive(*origin, request, header, payload);
  release_held(*origin);
}

/// The origin with this identity; nullptr when it has gone, or there are too many that nobody knows.
Origin* Executor::origin_of(std::uint64_t process) {
  auto const found = origins_.find(process);
  if (found != origins_.end()) return found->second.get();
  if (gone_.contains(process)) return nullptr;
  if (strangers_ >= max_strangers) return nullptr;
  auto& origin = origins_[process] = std::make_unique<Origin>();
  ++strangers_;
  origin->process = process;
  return origin.get();
}

/// The connection back is opened outside of the callback that this is called from.
void Executor::take_introduction(wire::CheckedRequest const& request) {
  ProcessAddress address;
  if (!decode(request.data, &address) || address.process != request.header.process)
    return drop("an introduction that does not fit its sender");
  auto const known = origins_.find(address.process);
  if (known != origins_.end() && known->second->endpoint != nullptr) {
    Connections::Connection const* const connection = connections_.find(address.process);
    if (connection == nullptr || connection->asked == 0) return drop("its origin is known already");
    // It has agreed to close the last one; its answer may come later.
    connections_.note_farewell(address.process, wire::Farewell::agree, connection->asked);
  }
  if (introductions_.size() < furthest_ahead) introductions_.push_back(std::move(address));
}

void Executor::meet_introduced() {
  std::vector<ProcessAddress> arrived = std::exchange(introductions_, {});
  for (ProcessAddress& address : arrived) {
    std::uint64_t const process = address.process;
    Origin* const origin = origin_of(process);
    if (origin == nullptr || origin->endpoint != nullptr) continue;
    origin->endpoint = connections_.open(process, connections_.locate(std::move(address)));
    if (origin->endpoint == nullptr) {
      forget(process);
    } else {
      strangers_ -= std::exchange(origin->met, true) ? 0 : 1;
      release_held(*origin);
    }
  }
}

/// An origin of ours that keeps to its window always finds room.
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

/// Takes the request's position of the stream without executing it.
void Executor::refuse(Origin& origin, wire::RequestHeader const& header, std::size_t payload_bytes,
                      Status status) {
  answer_failure(origin, header, status);
  note_executed(origin, header.sequence, wire::cost_of(header, payload_bytes));
}

/// Executes the request as soon as its stripes are free: now, later, or when the origin asks again.
void Executor::receive(Origin& origin, wire::CheckedRequest const& request, std::span<std::byte const> header,
                       std::span<std::byte const> payload) {
  constexpr int short_spins = 64;
  StripeSets const stripes = stripes_for(request, segments_.stripes().modes);
  if (stripes.empty()) return perform(origin, request, {}, payload.size());
  StripeHold hold(segments_.stripes(), stripes);
  for (int spins = 0; spins < short_spins; ++spins) {
    if (hold.acquire()) return perform(origin, request, std::move(hold), payload.size());
    cpu_relax();
  }
  if (must_not_wait(request)) return answer_busy(origin, request, payload.size());
  if (!has_room(origin, payload.size()))
    return refuse(origin, request.header, payload.size(), Status::out_of_memory);
  origin.make_out_of_order().deferred.insert(request.header.sequence);
  deferred_.push_back({&origin, Kept(header, payload), std::move(hold)});
  note_kept(origin, deferred_.back().kept);
}

/// The origin sends it again.
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
    perform(*ready.origin, request, std::move(ready.hold), ready.kept.payload().size());
    release_held(*ready.origin);
  }
}

/// The stripes, if any, are held.
void Executor::perform(Origin& origin, wire::CheckedRequest const& request, StripeHold hold,
                       std::size_t payload_bytes) {
  wire::RequestHeader const& header = request.header;
  std::uint64_t const cost = wire::cost_of(header, payload_bytes);
  if (static_cast<wire::RequestKind>(header.kind) == wire::RequestKind::lock) {
    origin.make_out_of_order().locks[header.token] = {std::move(hold), header.total};
    new_reply(origin, wire::ReplyKind::granted, header);
    note_executed(origin, header.sequence, cost);
    return;
  }
  Status const status = execute(origin, request);
  if (failed(status)) answer_failure(origin, header, status);
  count(origin, request, failed(status));
  bool ended = header.offset + header.bytes == header.total;
  if (HeldLock* const lock = origin.lock_of(header.token)) {
    lock->rest -= std::min(lock->rest, header.bytes);
    ended = lock->rest == 0;
    if (ended) origin.out_of_order()->locks.erase(header.token);
  }
  note_executed(origin, header.sequence, cost);
  // The acknowledgement of the stream may have to wait for an earlier request, and that for stripes which
  // the origin holds for this operation.
  if ((header.flags & wire::flag_tell) != 0 && ended) new_reply(origin, wire::ReplyKind::executed, header);
}

void Executor::note_executed(Origin& origin, std::uint64_t sequence, std::uint64_t cost) {
  ++executed_;
  ++origin.messages;
  origin.done += cost;
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
  owe(origin);
}

void Executor::release_held(Origin& origin) {
  if (origin.endpoint == nullptr || origin.out_of_order() == nullptr) return;
  std::map<std::uint64_t, Kept>& held = origin.out_of_order()->held;
  // Whatever runs may let the next one run.
  for (auto it = held.begin(); it != held.end();) {
    wire::CheckedRequest request{};
    (void)wire::check(it->second.header(), it->second.payload(), &request);  // it passed when it arrived
    bool const early = request.header.after > origin.executed;
    if (early && !must_not_wait(request)) {
      ++it;
      continue;
    }
    auto const ready = held.extract(it);
    Kept const& kept = ready.mapped();
    note_released(origin, kept);
    if (early) {
      answer_busy(origin, request, kept.payload().size());
    } else {
      receive(origin, request, kept.header(), kept.payload());
    }
    it = held.begin();
  }
}

void Executor::forget(std::uint64_t process) {
  gone_.insert(process);
  auto const found = origins_.find(process);
  if (found == origins_.end()) return;
  Origin* const gone = found->second.get();
  std::erase_if(replies_, [&](Reply const& reply) {
    if (reply.origin == gone) transport_.discard(*reply.message);
    return reply.origin == gone;
  });
  std::erase(owing_, gone);
  locks_.forget(process, lock_answers_);
  std::erase_if(deferred_, [&](Deferred const& deferred) { return deferred.origin == gone; });
  forget_holder_of_all(process);
  kept_bytes_ -= gone->kept_bytes;
  strangers_ -= gone->met ? 0 : 1;
  if (gone->messages != 0) executed_for_gone_[process] += gone->messages;
  origins_.erase(found);
}

bool Executor::is_idle(std::uint64_t process) const noexcept {
  auto const found = origins_.find(process);
  // Who has a lock, or waits for one, is known by its connection.
  return (found == origins_.end() || found->second->is_idle()) && !locks_.concerns(process);
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
  auto const gone = executed_for_gone_.find(process);
  auto const present = origins_.find(process);
  return (gone != executed_for_gone_.end() ? gone->second : 0) +
         (present != origins_.end() ? present->second->messages : 0);
}

}  // namespace mpix::engine
