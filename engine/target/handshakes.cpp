#include "engine/target/handshakes.hpp"

#include <cstring>
#include <memory>
#include <optional>

namespace mpixrma::engine {

void Handshakes::handle(std::uint64_t token, std::span<std::byte const> header,
                        std::span<std::byte const> payload) {
  if (parts_.origins.is_ended_session(token)) return;  // left behind by an ended process
  wire::CheckedRequest request{};
  char const* fault = token != 0 ? "its session does not exist" : wire::check(header, payload, &request);
  if (fault == nullptr && request.header.kind != wire::RequestKind::handshake)
    fault = "it does not belong to a session";
  if (fault == nullptr) fault = take_handshake(request.data);
  if (fault != nullptr) parts_.drops.record_drop(fault);
}

/// Returns the error of the handshake, or nullptr. The connection for replies is opened later, outside of the
/// callback that this function is called from.
char const* Handshakes::take_handshake(std::span<std::byte const> data) {
  Handshake handshake;
  std::optional<Secret> const secret = parts_.credentials.secret_of(target_of(data));
  if (!secret) return "a handshake with another process";
  if (!read_handshake(*secret, data, &handshake)) return "a handshake without a valid proof";
  SessionOpening const& opening = handshake.opening;
  ProcessAddress address;
  if (!decode(handshake.address, &address) || address.process != opening.origin ||
      address.incarnation != opening.origin_incarnation)
    return "a handshake that does not match its sender";
  if (worker_for(address.process, executors_) != place_) return "a handshake on the wrong channel";
  arrived_.reserve(arrived_.size() + 1);  // reserve first: recording an admitted peer must not throw
  address.process = identity_of(opening);
  if (char const* const fault = admit(opening, *secret); fault != nullptr) return fault;
  arrived_.push_back({std::move(address), opening.connection});
  return nullptr;
}

/// Returns the identity by which an origin is known here. Origins of several jobs may have equal identities,
/// but never equal nonces; an origin with several sessions counts as one process per session. The highest bit
/// is cleared: an origin's identity stays below that of a process that serves several jobs, whose 16 highest
/// bits are set. ConnectionEviction::handle_disconnect relies on this order.
std::uint64_t Handshakes::identity_of(SessionOpening const& opening) const noexcept {
  if (!parts_.credentials.exposed_only) return opening.origin;
  std::uint64_t identity = 0;
  std::memcpy(&identity, opening.nonce.data(), sizeof identity);
  if (opening.target != parts_.credentials.process) identity ^= opening.target * 0x9e3779b97f4a7c15u;
  return identity & ~(std::uint64_t{1} << 63);
}

bool Handshakes::is_session_full(std::uint64_t session) const noexcept {
  if (session_processes_ == 0 || parts_.credentials.sessions == nullptr) return false;
  return parts_.origins.count_of(session) >= session_processes_;
}

/// Records the origin of a verified handshake. Each handshake is accepted once.
char const* Handshakes::admit(SessionOpening const& opening, Secret const& secret) {
  std::uint64_t const identity = identity_of(opening);
  if (parts_.origins.has_ended(identity, opening.origin_incarnation))
    return "a handshake of an ended process";
  SessionTokens const session = tokens_of(secret, opening);
  Origin* const known = parts_.origins.find(identity);
  if (known != nullptr && known->session != session)
    return "a handshake of another process with the same identity";
  if (known != nullptr && opening.number <= known->handshake) return "a replayed handshake";
  if (char const* const fault = admit_connection(identity, opening.connection, known)) return fault;
  if (known != nullptr) {
    known->handshake = opening.number;
  } else if (char const* const fault = admit_new(opening, session)) {
    return fault;
  }
  expect_sealed(opening, secret);
  return nullptr;
}

/// `origin`: nullptr if the process is no origin yet.
char const* Handshakes::admit_connection(std::uint64_t process, std::uint64_t number, Origin* origin) {
  std::uint64_t const present = parts_.connections.number_of(process);
  if (number == present)
    return origin != nullptr && origin->endpoint != nullptr ? "its origin is connected already" : nullptr;
  Connections::Connection const* const connection = parts_.connections.find(process);
  if (connection == nullptr || !connection->disconnecting || number != present + 1)
    return "a handshake of another connection";
  // The handshake has overtaken the acceptance of the disconnect request.
  parts_.connections.queue_disconnect({process, wire::Disconnect::accept, present, true});
  if (origin != nullptr) origin->endpoint = nullptr;  // requests that follow wait for the next connection
  return nullptr;
}

char const* Handshakes::admit_new(SessionOpening const& opening, SessionTokens const& session) {
  if (is_session_full(opening.target)) {
    parts_.credentials.sessions->retire(opening.target, SessionEnd::too_many_processes);
    return "its session has as many processes as it may have";
  }
  auto made = std::make_unique<Origin>();
  made->process = identity_of(opening);
  made->incarnation = opening.origin_incarnation;
  made->target = opening.target;
  made->handshake = opening.number;
  made->session = session;
  parts_.unsent.start_account(*made);
  if (!parts_.origins.add(std::move(made))) return "a session that exists already";
  parts_.replies.set_credit(parts_.buffers.credit_share());
  return nullptr;
}

/// Sets the keys now, because messages that follow the handshake may arrive before the connection for replies
/// is opened.
void Handshakes::expect_sealed(SessionOpening const& opening, Secret const& secret) {
  if (!parts_.credentials.encrypt) return;
  SealKeys const keys = seal_keys_of(secret, opening);
  parts_.transport.seals().expect(identity_of(opening), keys.requests, keys.replies);
}

bool Handshakes::connect(Origin& origin, ProcessAddress const& address) {
  Location location = parts_.connections.locate(address);
  // The origin expects replies on the worker for the identity by which it knows this process.
  location.worker = address.workers[worker_for(origin.target, address.workers.size())];
  ucp_ep_h const endpoint = parts_.connections.open(origin.process, location);
  if (endpoint == nullptr) return false;
  parts_.transport.seals().begin(origin.process, endpoint);  // before anything is sent there
  origin.endpoint = endpoint;
  return true;
}

void Handshakes::remove(Origin& origin) {
  std::uint64_t const process = origin.process;
  std::uint64_t const session = origin.target;
  parts_.origins.remove(origin);
  parts_.replies.set_credit(parts_.buffers.credit_share());
  parts_.transport.seals().forget_expected(process);
  if (parts_.credentials.encrypt) retire_session(session);
}

/// Once an encrypted session has lost its last origin, it accepts no further connection: recorded messages
/// could be replayed.
void Handshakes::retire_session(std::uint64_t session) {
  if (parts_.credentials.sessions != nullptr && parts_.origins.count_of(session) == 0)
    parts_.credentials.sessions->retire(session, SessionEnd::connection_lost);
}

}  // namespace mpixrma::engine
