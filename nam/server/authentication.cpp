/// Requests for user authentication, for secrets, and for a new server key.
#include <optional>
#include <string>
#include <utility>

#include "nam/process/log.hpp"
#include "nam/protocol/handshake.hpp"
#include "nam/server/requests.hpp"
#include "nam/server/server_state.hpp"

namespace mpixrma::nam {

namespace {

/// This reply is the last plaintext message of a TCP connection.
Json begin_session(ServerState& server, Request& request) {
  Client& client = server.clients.at(request.client);
  if (client.transcript) throw Error(ErrorCode::malformed, "session already started");
  ServerHandshake const made = ServerHandshake::answer_to(
      request.content, [&server](std::optional<PublicKey> const& expected) -> KeyPair const& {
        return server.keys.find(expected);
      });
  client.connection->post(made.answer);
  client.connection->protect(SecureStream(made.session.keys));
  client.transcript = made.session.transcript;
  return nullptr;
}

}  // namespace

/// Over a Unix socket the system has reported the user.
Json hello(ServerState& server, Request& request) {
  Client& client = server.clients.at(request.client);
  if (!client.identity) return begin_session(server, request);
  return {{"user", user_name(client.identity->uid)}, {"admin", client.identity->is_admin}};
}

/// The answer does not reveal whether a user is unknown, has no secret, or has another secret. A failure ends
/// the connection: each attempt takes a handshake. The user database is queried only about users who have
/// proved their identity.
Json prove(ServerState& server, Request& request) {
  Client& client = server.clients.at(request.client);
  if (client.identity || !client.transcript)
    throw Error(ErrorCode::malformed, "proof received before the session was started");
  server.clients.close_after_answer(request.client);
  Transcript const transcript = *std::exchange(client.transcript, std::nullopt);
  auto const user = field<std::string>(request.content, "user");
  auto const holder = server.secrets.find(user);
  UserSecret const secret = holder ? holder->secret : random_secret();
  bool const proven =
      is_proof(secret, Prover::client, user, transcript, field<std::string>(request.content, "proof")) &&
      holder;
  auto identity = proven ? identity_of(user) : std::nullopt;
  if (!identity || identity->uid != holder->uid)
    throw Error(ErrorCode::denied, "authentication of user '" + user +
                                       "' failed: wrong secret, or none was made with 'mpix-nam secret'");
  identity->is_admin = server.clients.is_admin(identity->uid);
  server.clients.authenticate(request.client, std::move(*identity));
  return {{"proof", make_proof(secret, Prover::server, user, transcript)},
          {"user", user},
          {"admin", client.identity->is_admin},
          {"key", server.listeners.address().key}};
}

/// The secret is shown to its user only, on this host.
Json own_secret(ServerState& server, Request& request) {
  if (!server.clients.at(request.client).is_local)
    throw Error(ErrorCode::denied, "the secret is shown on the server's host only");
  return {{"secret", to_hex(server.secrets.of(server.clients.identity(request.client).uid))},
          {"address", nam::format(server.listeners.address())}};
}

/// Clients that connect while the previous key is accepted receive the new one.
Json rotate_key(ServerState& server, Request& request) {
  if (!server.clients.identity(request.client).is_admin)
    throw Error(ErrorCode::denied, "only administrators of the server change its key");
  auto const now = server.calendar.now();
  server.keys.rotate(now + static_cast<std::int64_t>(field<std::uint32_t>(request.content, "overlap")));
  try {
    server.keys.drop_expired(now);  // without overlap, the previous key is not accepted any more
  } catch (Error const&) {          // the file is written again later
  }
  std::string const key = to_text(server.keys.current().public_key);
  server.listeners.set_key(key);
  log(Severity::info, "the server has a new key: " + key);
  return {{"key", key}};
}

}  // namespace mpixrma::nam
