#include "nam/protocol/handshake.hpp"

#include <string_view>

#include "nam/protocol/error.hpp"
#include "nam/protocol/sodium.hpp"

namespace mpix::nam {

namespace {

using Mac = std::array<unsigned char, crypto_auth_hmacsha256_BYTES>;
static_assert(std::tuple_size_v<UserSecret> == crypto_auth_hmacsha256_KEYBYTES);
static_assert(crypto_secretbox_KEYBYTES == crypto_auth_hmacsha256_BYTES);

/// Each text with its length before it, so that two cannot be taken for one.
void cover(crypto_auth_hmacsha256_state& state, std::string_view text) {
  std::uint64_t const length = text.size();
  crypto_auth_hmacsha256_update(&state, reinterpret_cast<unsigned char const*>(&length), sizeof length);
  crypto_auth_hmacsha256_update(&state, reinterpret_cast<unsigned char const*>(text.data()), text.size());
}

Mac mac_of(UserSecret const& secret, std::string_view purpose, Challenge const& challenge) {
  require_sodium();
  crypto_auth_hmacsha256_state state;
  crypto_auth_hmacsha256_init(&state, secret.data(), secret.size());
  for (std::string_view const part :
       {purpose, std::string_view(challenge.user), std::string_view(challenge.client_nonce),
        std::string_view(challenge.server_nonce)})
    cover(state, part);
  Mac mac;
  crypto_auth_hmacsha256_final(&state, mac.data());
  return mac;
}

std::string_view purpose_of(Prover prover) noexcept {
  return prover == Prover::client ? "mpix nam client proof 1" : "mpix nam server proof 1";
}

}  // namespace

std::string make_proof(UserSecret const& secret, Prover prover, Challenge const& challenge) {
  Mac const mac = mac_of(secret, purpose_of(prover), challenge);
  return to_hex(mac);
}

bool is_proof(UserSecret const& secret, Prover prover, Challenge const& challenge, std::string const& proof) {
  std::string const expected = make_proof(secret, prover, challenge);
  return proof.size() == expected.size() &&
         sodium_memcmp(proof.data(), expected.data(), expected.size()) == 0;
}

std::vector<std::byte> seal(UserSecret const& secret, Challenge const& challenge,
                            std::span<std::byte const> plain) {
  Mac const key = mac_of(secret, "mpix nam key 1", challenge);
  std::vector<std::byte> sealed(crypto_secretbox_NONCEBYTES + crypto_secretbox_MACBYTES + plain.size());
  randombytes_buf(sealed.data(), crypto_secretbox_NONCEBYTES);
  crypto_secretbox_easy(raw(sealed.data() + crypto_secretbox_NONCEBYTES), raw(plain.data()), plain.size(),
                        raw(sealed.data()), key.data());
  return sealed;
}

std::vector<std::byte> unseal(UserSecret const& secret, Challenge const& challenge,
                              std::span<std::byte const> sealed) {
  constexpr std::size_t overhead = crypto_secretbox_NONCEBYTES + crypto_secretbox_MACBYTES;
  if (sealed.size() < overhead) throw Error(ErrorCode::malformed, "what was sealed is cut");
  Mac const key = mac_of(secret, "mpix nam key 1", challenge);
  std::vector<std::byte> plain(sealed.size() - overhead);
  if (crypto_secretbox_open_easy(raw(plain.data()), raw(sealed.data() + crypto_secretbox_NONCEBYTES),
                                 sealed.size() - crypto_secretbox_NONCEBYTES, raw(sealed.data()),
                                 key.data()) != 0)
    throw Error(ErrorCode::malformed, "what was sealed is damaged");
  return plain;
}

}  // namespace mpix::nam
