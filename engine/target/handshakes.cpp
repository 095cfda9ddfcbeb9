/// Executor: the sessions of origins, from their handshake to their end.
#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/target/executor.hpp"

namespace mpixrma::engine {

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

/// An unauthenticated peer may send only a handshake.
void Executor::take_from_stranger(std::uint64_t token, std::span<std::byte const> header,
                                  std::span<std::byte const> payload) {
  if (ended_.contain(token)) return;  // left behind by an ended process
  wire::CheckedRequest request{};
  char const* fault = token != 0 ? "its session does not exist" : wire::check(header, payload, &request);
  if (fault == nullptr && request.header.kind != wire::RequestKind::introduction)
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

bool Executor::is_session_full(std::uint64_t session) const noexcept {
  if (settings_.session_processes == 0 || credentials_.sessions == nullptr) return false;
  auto const count = std::count_if(origins_.begin(), origins_.end(),
                                   [=](auto const& entry) { return entry.second->target == session; });
  return static_cast<std::size_t>(count) >= settings_.session_processes;
}

/// Makes the origin of a proven introduction known. Each introduction is good for once.
char const* Executor::admit(SessionOpening const& opening, Secret const& secret) {
  std::uint64_t const name = name_of(opening);
  if (gone_.contain(name, opening.origin_incarnation)) return "a handshake of an ended process";
  SessionTokens const session = tokens_of(secret, opening);
  auto const known = origins_.find(name);
  if (known == origins_.end()) {
    if (is_session_full(opening.target)) {
      credentials_.sessions->retire(opening.target, SessionEnd::too_many_processes);
      return "its session has as many processes as it may have";
    }
    auto made = std::make_unique<Origin>();
    made->process = name;
    made->incarnation = opening.origin_incarnation;
    made->target = opening.target;
    made->connection = opening.connection;
    made->session = session;
    bound_answers(*made);
    if (!sessions_.emplace(session.request, made.get()).second) return "a session that exists already";
    origins_.emplace(name, std::move(made));
    divide_credit();
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

/// The keys that it has seen may be copied where strangers connect.
void Executor::forget_holder_of_all(std::uint64_t process) noexcept {
  holders_.remove_process(process,
                          credentials_.exposed_only ? KeyHolders::Left::kept : KeyHolders::Left::forgotten);
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
  replies_.forget(gone);
  std::erase(full_, gone);
  locks_.forget(process, lock_answers_);
  std::erase_if(deferred_, [&](Deferred const& deferred) { return deferred.origin == gone; });
  forget_holder_of_all(process);
  kept_bytes_ -= gone->kept_bytes;
  std::uint64_t const session = gone->target;
  origins_.erase(found);
  divide_credit();
  transport_.seals().forget_expected(process);
  if (credentials_.encrypt) retire_session(session);
}

/// An encrypted session whose connection was lost admits nobody any more: its messages could be sent once
/// more by who has recorded them.
void Executor::retire_session(std::uint64_t session) {
  auto const is_of_it = [=](auto const& entry) { return entry.second->target == session; };
  if (credentials_.sessions != nullptr && std::none_of(origins_.begin(), origins_.end(), is_of_it))
    credentials_.sessions->retire(session, SessionEnd::connection_lost);
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
