#include "nam/protocol/user_secret.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/shared_memory.hpp"
#include "nam/protocol/error.hpp"
#include "nam/protocol/private_file.hpp"
#include "nam/protocol/sodium.hpp"

namespace mpixrma::nam {

namespace {

std::string hex(unsigned char const* bytes, std::size_t length) {
  std::string text(2 * length + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), bytes, length);
  text.pop_back();
  return text;
}

}  // namespace

std::string random_identifier() {
  require_sodium();
  std::array<unsigned char, 16> bytes;
  randombytes_buf(bytes.data(), bytes.size());
  return hex(bytes.data(), bytes.size());
}

UserSecret random_secret() {
  require_sodium();
  UserSecret secret;
  randombytes_buf(secret.data(), secret.size());
  return secret;
}

std::optional<UserSecret> read_secret(std::filesystem::path const& file) {
  engine::FileDescriptor const opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat status {};
  if (!opened || ::fstat(opened.get(), &status) != 0) return std::nullopt;
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0 || status.st_uid != ::geteuid())
    throw Error(ErrorCode::denied,
                "the secret in " + file.string() + " is accessible to other users; chmod 600 it");
  if (status.st_size == 0) return std::nullopt;  // an earlier version left an empty file on a full disk
  std::string text(2 * std::tuple_size_v<UserSecret>, '\0');
  if (::read(opened.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    throw Error(ErrorCode::malformed, "no secret in " + file.string());
  return secret_from_hex(text);
}

void write_secret(std::filesystem::path const& file, UserSecret const& secret) {
  std::error_code ignored;
  std::filesystem::create_directories(file.parent_path(), ignored);
  replace_file(file, to_hex(secret) + "\n");
}

std::string to_hex(UserSecret const& secret) { return hex(secret.data(), secret.size()); }

UserSecret secret_from_hex(std::string const& text) {
  UserSecret secret;
  std::size_t length = 0;
  if (sodium_hex2bin(secret.data(), secret.size(), text.c_str(), text.size(), nullptr, &length, nullptr) !=
          0 ||
      length != secret.size() || text.size() != 2 * length)
    throw Error(ErrorCode::malformed, "malformed secret");
  return secret;
}

}  // namespace mpixrma::nam
