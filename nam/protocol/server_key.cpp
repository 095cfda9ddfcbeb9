#include "nam/protocol/server_key.hpp"

#include "nam/protocol/sodium.hpp"

namespace mpixrma::nam {

static_assert(std::tuple_size_v<PublicKey> == crypto_kx_PUBLICKEYBYTES);
static_assert(std::tuple_size_v<decltype(KeyPair::secret_key)> == crypto_kx_SECRETKEYBYTES);

namespace {

constexpr int text_variant = sodium_base64_VARIANT_URLSAFE_NO_PADDING;

}  // namespace

KeyPair KeyPair::make() {
  require_sodium();
  KeyPair made;
  crypto_kx_keypair(made.public_key.data(), made.secret_key.data());
  return made;
}

KeyPair KeyPair::from_secret(std::array<unsigned char, 32> const& secret_key) {
  require_sodium();
  KeyPair pair{{}, secret_key};
  (void)crypto_scalarmult_base(pair.public_key.data(), secret_key.data());
  return pair;
}

std::string to_text(PublicKey const& key) {
  std::array<char, sodium_base64_ENCODED_LEN(std::tuple_size_v<PublicKey>, text_variant)> text;
  sodium_bin2base64(text.data(), text.size(), key.data(), key.size(), text_variant);
  return text.data();
}

std::optional<PublicKey> key_from_text(std::string_view text) {
  PublicKey key;
  std::size_t length = 0;
  char const* end = nullptr;
  if (sodium_base642bin(key.data(), key.size(), text.data(), text.size(), nullptr, &length, &end,
                        text_variant) != 0 ||
      length != key.size() || end != text.data() + text.size())
    return std::nullopt;
  return key;
}

}  // namespace mpixrma::nam
