/// The secret by which a user proves his identity over TCP, and the files that it stands in.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>

namespace mpixrma::nam {

using UserSecret = std::array<unsigned char, 32>;

/// 128 random bits in hexadecimal.
std::string random_identifier();
UserSecret random_secret();

/// The secret in a file that only its owner can read; nothing where there is no such file. Throws
/// Error(denied) where others can read it.
std::optional<UserSecret> read_secret(std::filesystem::path const& file);
/// Makes the file, and the directory that it stands in. Throws Error.
void write_secret(std::filesystem::path const& file, UserSecret const& secret);
std::string to_hex(UserSecret const& secret);
/// Throws Error(malformed).
UserSecret secret_from_hex(std::string const& text);

}  // namespace mpixrma::nam
