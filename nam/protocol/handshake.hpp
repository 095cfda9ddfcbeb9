/// The beginning of a session over TCP. The client sends an ephemeral key and the server's key that it
/// expects; the server answers with that key and an ephemeral one. The keys of the session come from both
/// exchanges (crypto_kx), so only the owner of the server's key can have them, and what was recorded stays
/// closed if that key is lost later. Everything after these two messages travels in a SecureStream; there the
/// user and the server prove to each other that they have the user's secret, by MACs that hold for this
/// session, this server and one direction: passed on to another server they are worth nothing.
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

/// Of the protocol between clients and servers. 1: the proof covered no server, and nothing was encrypted.
inline constexpr std::uint64_t protocol_version = 2;

/// Stands for all that both sides have said before the proofs.
using Transcript = std::array<unsigned char, 32>;

/// Result of a handshake.
struct SecuredSession {
  SessionKeys keys;
  Transcript transcript{};
};

class ClientHandshake {
 public:
  ClientHandshake();
  /// The first message. `expected` is the key that the server is to have, where it is known.
  Json hello(std::optional<PublicKey> const& expected) const;
  /// Takes the answer. `accepts` says whether the server may have this key: where it does not, it throws, and
  /// nothing that derives from a secret was sent. Throws Error(malformed).
  SecuredSession finish(Json const& answer, std::function<void(PublicKey const&)> const& accepts) const;

 private:
  KeyPair ephemeral_;
};

/// The server's side in one step: with which of its keys the client is served is for `key_for` to say.
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
/// In constant time.
bool is_proof(UserSecret const& secret, Prover prover, std::string const& user, Transcript const& transcript,
              std::string const& proof);

}  // namespace mpixrma::nam
