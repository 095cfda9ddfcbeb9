/// The secret by which a user authenticates over TCP, and the files that store it.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>

namespace mpixrma::nam {

using UserSecret = std::array<unsigned char, 32>;

/// Returns 128 random bits in hexadecimal.
std::string random_identifier();
UserSecret random_secret();

/// Returns the secret in a file of this user; nothing if the file cannot be opened or is empty. Throws
/// Error(denied) if the file is another user's or accessible to others, Error(malformed) if it has no secret.
std::optional<UserSecret> read_secret(std::filesystem::path const& file);
/// Writes the file, replacing an earlier one, and creates its directory. Throws Error.
void write_secret(std::filesystem::path const& file, UserSecret const& secret);
std::string to_hex(UserSecret const& secret);
/// Throws Error(malformed).
UserSecret secret_from_hex(std::string const& text);

}  // namespace mpixrma::nam
