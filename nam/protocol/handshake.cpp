#include "nam/protocol/handshake.hpp"

#include <string_view>

#include "nam/protocol/error.hpp"
#include "nam/protocol/sodium.hpp"

namespace mpixrma::nam {

namespace {

using Hash = std::array<unsigned char, 32>;
static_assert(std::tuple_size_v<UserSecret> == crypto_auth_hmacsha256_KEYBYTES &&
              std::tuple_size_v<UserSecret> == crypto_auth_hmacsha256_BYTES);

struct PublicKeys {
  PublicKey client;  ///< ephemeral
  PublicKey server;  ///< ephemeral
  PublicKey server_static;
};

/// BLAKE2b over a purpose and parts of fixed lengths.
class Digest {
 public:
  explicit Digest(std::string_view purpose) {
    crypto_generichash_init(&state_, nullptr, 0, sizeof(Hash));
    std::array<unsigned char, 32> padded{};
    std::copy_n(purpose.begin(), std::min(purpose.size(), padded.size()), padded.begin());
    add(padded);
  }
  void add(Hash const& part) { crypto_generichash_update(&state_, part.data(), part.size()); }
  Hash end() {
    Hash hash;
    crypto_generichash_final(&state_, hash.data(), hash.size());
    return hash;
  }

 private:
  crypto_generichash_state state_;
};

Transcript transcript_of(PublicKeys const& keys) {
  Digest digest("mpix nam transcript 2");
  digest.add(keys.client);
  digest.add(keys.server);
  digest.add(keys.server_static);
  return digest.end();
}

/// Returns the key of one direction, from the exchanges with the static and the ephemeral key of the server.
Hash direction_key(std::string_view purpose, Hash const& with_static, Hash const& with_ephemeral,
                   Transcript const& transcript) {
  Digest digest(purpose);
  digest.add(with_static);
  digest.add(with_ephemeral);
  digest.add(transcript);
  return digest.end();
}

constexpr std::string_view to_server = "mpix nam client to server 2";
constexpr std::string_view to_client = "mpix nam server to client 2";

[[noreturn]] void refuse_keys() {
  throw Error(ErrorCode::malformed, "the keys of the other side are not valid");
}

struct Exchanged {
  Hash received;
  Hash sent;
};

Exchanged exchange_as_client(KeyPair const& own, PublicKey const& server) {
  Exchanged keys;
  if (crypto_kx_client_session_keys(keys.received.data(), keys.sent.data(), own.public_key.data(),
                                    own.secret_key.data(), server.data()) != 0)
    refuse_keys();
  return keys;
}

Exchanged exchange_as_server(KeyPair const& own, PublicKey const& client) {
  Exchanged keys;
  if (crypto_kx_server_session_keys(keys.received.data(), keys.sent.data(), own.public_key.data(),
                                    own.secret_key.data(), client.data()) != 0)
    refuse_keys();
  return keys;
}

PublicKey key_field(Json const& message, char const* name) {
  auto const key = key_from_text(field<std::string>(message, name));
  if (!key) throw Error(ErrorCode::malformed, std::string("the message has no valid '") + name + "'");
  return *key;
}

void check_version(Json const& hello) {
  auto const version = field_or<std::uint64_t>(hello, "version", 1);
  if (version != protocol_version)
    throw Error(ErrorCode::malformed, "the memory server speaks version " + std::to_string(protocol_version) +
                                          " of its protocol, the client version " + std::to_string(version) +
                                          ": use the same release on both hosts");
}

}  // namespace

ClientHandshake::ClientHandshake() : ephemeral_(KeyPair::make()) {}

Json ClientHandshake::hello(std::optional<PublicKey> const& expected) const {
  Json hello{{"op", "hello"}, {"version", protocol_version}, {"ephemeral", to_text(ephemeral_.public_key)}};
  if (expected) hello["expected"] = to_text(*expected);
  return hello;
}

SecuredSession ClientHandshake::finish(Json const& answer,
                                       std::function<void(PublicKey const&)> const& accepts) const {
  if (!answer.contains("ephemeral"))
    throw Error(ErrorCode::malformed,
                "the memory server speaks another version of the protocol than the client: "
                "use the same release on both hosts");
  PublicKeys const keys{ephemeral_.public_key, key_field(answer, "ephemeral"), key_field(answer, "key")};
  accepts(keys.server_static);
  Exchanged const with_static = exchange_as_client(ephemeral_, keys.server_static);
  Exchanged const with_ephemeral = exchange_as_client(ephemeral_, keys.server);
  SecuredSession session;
  session.transcript = transcript_of(keys);
  session.keys.sent = direction_key(to_server, with_static.sent, with_ephemeral.sent, session.transcript);
  session.keys.received =
      direction_key(to_client, with_static.received, with_ephemeral.received, session.transcript);
  return session;
}

ServerHandshake ServerHandshake::answer_to(
    Json const& hello, std::function<KeyPair const&(std::optional<PublicKey> const&)> const& key_for) {
  check_version(hello);
  std::optional<PublicKey> expected;
  if (hello.contains("expected")) expected = key_field(hello, "expected");
  KeyPair const& own = key_for(expected);
  KeyPair const ephemeral = KeyPair::make();
  PublicKeys const keys{key_field(hello, "ephemeral"), ephemeral.public_key, own.public_key};
  Exchanged const with_static = exchange_as_server(own, keys.client);
  Exchanged const with_ephemeral = exchange_as_server(ephemeral, keys.client);
  ServerHandshake made;
  made.answer = {{"version", protocol_version},
                 {"ephemeral", to_text(ephemeral.public_key)},
                 {"key", to_text(own.public_key)}};
  made.session.transcript = transcript_of(keys);
  made.session.keys.sent =
      direction_key(to_client, with_static.sent, with_ephemeral.sent, made.session.transcript);
  made.session.keys.received =
      direction_key(to_server, with_static.received, with_ephemeral.received, made.session.transcript);
  return made;
}

std::string make_proof(UserSecret const& secret, Prover prover, std::string const& user,
                       Transcript const& transcript) {
  require_sodium();
  std::string_view const purpose =
      prover == Prover::client ? "mpix nam client proof 2" : "mpix nam server proof 2";
  crypto_auth_hmacsha256_state state;
  crypto_auth_hmacsha256_init(&state, secret.data(), secret.size());
  crypto_auth_hmacsha256_update(&state, reinterpret_cast<unsigned char const*>(purpose.data()),
                                purpose.size());
  crypto_auth_hmacsha256_update(&state, transcript.data(), transcript.size());
  // Only the last part has a variable length.
  crypto_auth_hmacsha256_update(&state, reinterpret_cast<unsigned char const*>(user.data()), user.size());
  UserSecret mac;
  crypto_auth_hmacsha256_final(&state, mac.data());
  return to_hex(mac);
}

bool is_proof(UserSecret const& secret, Prover prover, std::string const& user, Transcript const& transcript,
              std::string const& proof) {
  std::string const expected = make_proof(secret, prover, user, transcript);
  return proof.size() == expected.size() &&
         sodium_memcmp(proof.data(), expected.data(), expected.size()) == 0;
}

}  // namespace mpixrma::nam
