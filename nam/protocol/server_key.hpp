/// The key pair that identifies a memory server, and its public key as text, which locators contain and
/// clients pin.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace mpixrma::nam {

using PublicKey = std::array<unsigned char, 32>;

/// An X25519 key pair for crypto_kx.
struct KeyPair {
  PublicKey public_key{};
  std::array<unsigned char, 32> secret_key{};

  static KeyPair make();
  static KeyPair from_secret(std::array<unsigned char, 32> const& secret_key);
};

/// Returns 43 characters of base64url.
std::string to_text(PublicKey const& key);
/// Returns nothing if the text is not a key.
std::optional<PublicKey> key_from_text(std::string_view text);

}  // namespace mpixrma::nam
