#include "engine/net/session.hpp"

#include <sodium.h>

#include <bit>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>

#include "engine/base/random.hpp"

namespace mpixrma::engine {

namespace {

using Mac = std::array<unsigned char, crypto_auth_hmacsha256_BYTES>;
static_assert(std::tuple_size_v<Secret> == crypto_auth_hmacsha256_KEYBYTES);

// Each MAC covers its purpose first, so that none can be used for another purpose.
constexpr std::string_view purpose_proof = "mpix session proof 1";
constexpr std::string_view purpose_token = "mpix session token 1";
constexpr std::string_view purpose_connection = "mpix connection key 1";
constexpr std::string_view purpose_query = "mpix address query 1";
constexpr std::string_view purpose_reply = "mpix address reply 1";
constexpr std::string_view purpose_loss = "mpix loss notice 1";

unsigned char const* raw_bytes(void const* bytes) noexcept {
  return static_cast<unsigned char const*>(bytes);
}

Mac mac_of(Secret const& secret, std::string_view purpose, SessionOpening const& opening,
           std::span<std::byte const> address) {
  if (sodium_init() < 0) std::abort();  // here, not at the start: a process without messages needs no MAC
  crypto_auth_hmacsha256_state state;
  crypto_auth_hmacsha256_init(&state, raw_bytes(secret.data()), secret.size());
  crypto_auth_hmacsha256_update(&state, raw_bytes(purpose.data()), purpose.size());
  crypto_auth_hmacsha256_update(&state, raw_bytes(&opening), sizeof opening);
  crypto_auth_hmacsha256_update(&state, raw_bytes(address.data()), address.size());
  Mac mac;
  crypto_auth_hmacsha256_final(&state, mac.data());
  return mac;
}

/// Returns the opening, a MAC of the opening and the data, and the data.
std::vector<std::byte> sign(Secret const& secret, std::string_view purpose, SessionOpening const& opening,
                            std::span<std::byte const> data) {
  Mac const proof = mac_of(secret, purpose, opening, data);
  std::vector<std::byte> payload(sizeof opening + proof.size() + data.size());
  std::memcpy(payload.data(), &opening, sizeof opening);
  std::memcpy(payload.data() + sizeof opening, proof.data(), proof.size());
  if (!data.empty()) std::memcpy(payload.data() + sizeof opening + proof.size(), data.data(), data.size());
  return payload;
}

/// Reads the result of sign(); false if it is damaged or was signed with another secret or for another
/// purpose.
bool verify(Secret const& secret, std::string_view purpose, std::span<std::byte const> payload,
            Handshake* out) {
  constexpr std::size_t head = sizeof(SessionOpening) + std::tuple_size_v<Mac>;
  if (payload.size() < head) return false;
  std::memcpy(&out->opening, payload.data(), sizeof out->opening);
  out->address = payload.subspan(head);
  Mac const expected = mac_of(secret, purpose, out->opening, out->address);
  return sodium_memcmp(expected.data(), payload.data() + sizeof out->opening, expected.size()) == 0;
}

}  // namespace

Credentials Credentials::make(std::uint64_t process, CredentialOptions options) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  Credentials made;
  made.process = process;
  made.exposed_only = options.exposed_only;
  made.encrypt = options.encrypt;
  if (options.exposed_only) made.sessions = SessionSecrets::make(process);
  made.incarnation =
      static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
  fill_randomly(std::as_writable_bytes(std::span(made.secret)));
  fill_randomly(std::as_writable_bytes(std::span(made.nonce)));
  return made;
}

std::vector<std::byte> make_handshake(Secret const& target, SessionOpening const& opening,
                                      std::span<std::byte const> address) {
  return sign(target, purpose_proof, opening, address);
}

std::uint64_t target_of(std::span<std::byte const> payload) noexcept {
  SessionOpening opening;
  if (payload.size() < sizeof opening) return 0;
  std::memcpy(&opening, payload.data(), sizeof opening);
  return opening.target;
}

bool read_handshake(Secret const& secret, std::span<std::byte const> payload, Handshake* out) {
  return verify(secret, purpose_proof, payload, out) && !out->address.empty();
}

std::vector<std::byte> make_address_query(Secret const& target, SessionOpening const& opening) {
  return sign(target, purpose_query, opening, {});
}

bool read_address_query(Secret const& secret, std::span<std::byte const> payload, SessionOpening* out) {
  Handshake query;
  if (!verify(secret, purpose_query, payload, &query) || !query.address.empty()) return false;
  *out = query.opening;
  return true;
}

std::vector<std::byte> make_address_reply(Secret const& secret, SessionOpening const& query,
                                          std::span<std::byte const> address) {
  return sign(secret, purpose_reply, query, address);
}

bool read_address_reply(Secret const& target, SessionOpening const& query, std::span<std::byte const> payload,
                        std::span<std::byte const>* address) {
  Handshake reply;
  if (!verify(target, purpose_reply, payload, &reply)) return false;
  if (std::memcmp(&reply.opening, &query, sizeof query) != 0) return false;
  *address = reply.address;
  return true;
}

std::vector<std::byte> make_loss_notice(Secret const& target, SessionOpening const& opening, bool silent) {
  std::byte const data{silent};
  return sign(target, purpose_loss, opening, {&data, 1});
}

bool read_loss_notice(Secret const& secret, std::span<std::byte const> payload, SessionOpening* out,
                      bool* silent) {
  Handshake notice;
  if (!verify(secret, purpose_loss, payload, &notice) || notice.address.size() != 1) return false;
  *out = notice.opening;
  *silent = notice.address.front() != std::byte{0};
  return true;
}

SessionTokens tokens_of(Secret const& target, SessionOpening opening) {
  opening.number = opening.connection = 0;
  Mac const mac = mac_of(target, purpose_token, opening, {});
  SessionTokens tokens;
  std::memcpy(&tokens.request, mac.data(), sizeof tokens.request);
  std::memcpy(&tokens.reply, mac.data() + sizeof tokens.request, sizeof tokens.reply);
  return tokens;
}

Secret connection_key_of(Secret const& target, SessionOpening const& opening) {
  return std::bit_cast<Secret>(mac_of(target, purpose_connection, opening, {}));
}

}  // namespace mpixrma::engine
