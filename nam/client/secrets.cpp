#include "nam/client/secrets.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

#include "nam/protocol/error.hpp"

namespace mpixrma::nam {

namespace {

std::mutex given_lock;
std::map<std::string, UserSecret> given;  ///< by server

/// Returns the key of a server in `given`: its endpoint or socket, whether or not the address includes the
/// server's public key.
std::string place_of(Address const& server) {
  return server.port != 0 ? endpoint_of(server) : server.unix_path;
}

}  // namespace

void set_secret(Address const& server, UserSecret const& secret) {
  std::lock_guard const held(given_lock);
  given[place_of(server)] = secret;
}

std::optional<UserSecret> given_secret(Address const& server) {
  std::lock_guard const held(given_lock);
  auto const found = given.find(place_of(server));
  return found != given.end() ? std::optional(found->second) : std::nullopt;
}

std::filesystem::path secret_file() {
  if (char const* const given = std::getenv("MPIX_NAM_SECRET_FILE")) return given;
  char const* const home = std::getenv("HOME");
  return std::filesystem::path(home != nullptr ? home : "/") / ".config/mpix-nam/secret";
}

void check_home(std::filesystem::path const& file) {
  char const* const home = std::getenv("HOME");
  struct stat status {};
  if (home == nullptr || !file.string().starts_with(home) || ::stat(home, &status) != 0) return;
  if (status.st_uid == 0 || status.st_uid == ::geteuid()) return;
  throw Error(ErrorCode::denied, "HOME is " + std::string(home) + ", which belongs to user " +
                                     std::to_string(status.st_uid) +
                                     ": set it to a directory of this user, or set MPIX_NAM_SECRET_FILE");
}

std::filesystem::path secret_file(Address const& server) {
  return secret_file().concat(".").concat(endpoint_of(server));
}

UserSecret secret_for(Address const& server) {
  auto secret = given_secret(server);
  if (!secret) secret = read_secret(secret_file(server));
  if (!secret) secret = read_secret(secret_file());
  if (!secret)
    throw Error(ErrorCode::denied, "no secret in " + secret_file().string() +
                                       "; 'mpix-nam secret' on the server's host creates it");
  return *secret;
}

}  // namespace mpixrma::nam
