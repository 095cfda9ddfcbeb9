/// The key pair by which a memory server is known, and its public key as text: part of locators, and what
/// clients pin.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace mpixrma::nam {

using PublicKey = std::array<unsigned char, 32>;

/// X25519, as crypto_kx has it.
struct KeyPair {
  PublicKey public_key{};
  std::array<unsigned char, 32> secret_key{};

  static KeyPair make();
  static KeyPair from_secret(std::array<unsigned char, 32> const& secret_key);
};

/// 43 characters of base64url.
std::string to_text(PublicKey const& key);
/// Nothing where the text is no key.
std::optional<PublicKey> key_from_text(std::string_view text);

}  // namespace mpixrma::nam
