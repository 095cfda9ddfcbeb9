/// The handshake of a session over TCP. The client sends an ephemeral key and, if known, the server's key
/// that it expects; the server answers with that key if it has it, else with its current one, and with an
/// ephemeral key. The session keys derive from both exchanges (crypto_kx), so only the owner of the server's
/// key can compute them, and recorded traffic stays secret even if that key is lost later. All later messages
/// travel in a SecureStream, in which user and server prove to each other that they have the user's secret,
/// by MACs bound to this session, this server and one direction: a MAC is useless at another server.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "nam/protocol/channel.hpp"
#include "nam/protocol/secure_stream.hpp"
#include "nam/protocol/server_key.hpp"
#include "nam/protocol/user_secret.hpp"

namespace mpixrma::nam {

/// Version of the protocol between clients and servers. In version 1 the proof was not bound to a server, and
/// nothing was encrypted; in version 2 the request "engine_address" had another name.
inline constexpr std::uint64_t protocol_version = 3;

/// A hash of the public keys of both sides, which were exchanged before the proofs.
using Transcript = std::array<unsigned char, 32>;

/// Result of a handshake.
struct SecuredSession {
  SessionKeys keys;
  Transcript transcript{};
};

class ClientHandshake {
 public:
  ClientHandshake();
  /// Returns the first message. `expected` is the key that the server must have, if known.
  Json hello(std::optional<PublicKey> const& expected) const;
  /// Processes the answer. `accepts` throws if the server must not have this key; nothing derived from a
  /// secret has been sent at that point. Throws Error(malformed).
  SecuredSession finish(Json const& answer, std::function<void(PublicKey const&)> const& accepts) const;

 private:
  KeyPair ephemeral_;
};

/// The server's side in one step; `key_for` chooses the server key for the client.
struct ServerHandshake {
  Json answer;
  SecuredSession session;

  /// Throws Error(malformed), with a text for users of other versions.
  static ServerHandshake answer_to(
      Json const& hello, std::function<KeyPair const&(std::optional<PublicKey> const&)> const& key_for);
};

enum class Prover { client, server };

std::string make_proof(UserSecret const& secret, Prover prover, std::string const& user,
                       Transcript const& transcript);
/// Compares in constant time.
bool is_proof(UserSecret const& secret, Prover prover, std::string const& user, Transcript const& transcript,
              std::string const& proof);

}  // namespace mpixrma::nam
