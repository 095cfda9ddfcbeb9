#include "nam/client/known_servers.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <sstream>

#include "engine/base/shared_memory.hpp"
#include "nam/client/secrets.hpp"
#include "nam/protocol/error.hpp"
#include "nam/protocol/private_file.hpp"

namespace mpixrma::nam {

namespace {

std::mutex confirm_lock;
ConfirmKey confirm_key;

/// Whether the file exists. Throws Error(denied) if other users can write it, because they could pin any
/// server for its owner.
bool exists_with_safe_mode(std::filesystem::path const& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return false;
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0 || (status.st_uid != ::geteuid() && status.st_uid != 0))
    throw Error(ErrorCode::denied, file.string() + " can be written by others than its owner; chmod 600 it");
  return true;
}

/// Calls visit(line, place, key) for each line; `key` is empty if the line does not describe a server.
template <typename Visitor>
void for_each_line(std::filesystem::path const& file, Visitor visit) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string place;
    std::string key;
    words >> place >> key;
    if (place.starts_with("#")) key.clear();
    visit(line, place, key);
  }
}

[[noreturn]] void fail(std::filesystem::path const& file) {
  throw Error(ErrorCode::internal, "cannot write " + file.string() + ": " + std::strerror(errno));
}

std::string advice(Address const& server, PublicKey const& key) {
  return "'mpix-nam trust " + endpoint_of(server) + " " + to_text(key) + "'";
}

}  // namespace

std::filesystem::path known_servers_file() {
  if (char const* const given = std::getenv("MPIX_NAM_KNOWN_SERVERS")) return given;
  return secret_file().parent_path() / "known_servers";
}

std::optional<PublicKey> pinned_key(Address const& server) {
  std::filesystem::path const file = known_servers_file();
  if (!exists_with_safe_mode(file)) return std::nullopt;
  std::optional<PublicKey> found;
  for_each_line(file, [&](std::string const&, std::string const& place, std::string const& key) {
    if (!found && place == endpoint_of(server)) found = key_from_text(key);
  });
  return found;
}

void pin_key(Address const& server, PublicKey const& key) {
  std::filesystem::path const file = known_servers_file();
  check_home(file);
  std::error_code ignored;
  std::filesystem::create_directories(file.parent_path(), ignored);
  std::string const lock_file = file.string() + ".lock";
  engine::FileDescriptor const lock(
      ::open(lock_file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!lock || ::flock(lock.get(), LOCK_EX) != 0) fail(file);
  std::string text;
  if (exists_with_safe_mode(file)) {
    for_each_line(file, [&](std::string const& line, std::string const& place, std::string const& known) {
      if (known.empty() || place != endpoint_of(server)) text += line + "\n";
    });
  }
  replace_file(file, text + endpoint_of(server) + " " + to_text(key) + "\n");
}

void set_key_confirmation(ConfirmKey confirm) {
  std::lock_guard const held(confirm_lock);
  confirm_key = std::move(confirm);
}

ServerTrust trust_in(Address const& server) { return {key_from_text(server.key), pinned_key(server)}; }

void check_key(Address const& server, ServerTrust const& trust, PublicKey const& key) {
  if (key == trust.given || key == trust.pinned) return;
  if (auto const& expected = trust.expected())
    throw Error(ErrorCode::denied, "the key of the memory server at " + endpoint_of(server) +
                                       " has changed: expected " + to_text(*expected) + ", found " +
                                       to_text(key) + "; if its administrator confirms the new key, " +
                                       advice(server, key) + " pins it");
  ConfirmKey confirm;
  {
    std::lock_guard const held(confirm_lock);
    confirm = confirm_key;
  }
  if (!confirm || !confirm(server, key))
    throw Error(ErrorCode::denied, "the memory server at " + endpoint_of(server) +
                                       " is not known: if its administrator confirms the key, " +
                                       advice(server, key) + " pins it");
  pin_key(server, key);
}

void follow_rotation(Address const& server, ServerTrust const& trust, std::string const& used,
                     std::string const& current) {
  auto const key = key_from_text(current);
  if (!key) throw Error(ErrorCode::malformed, "the memory server sent an invalid key");
  if (trust.pinned && *trust.pinned != *key && key_from_text(used) == trust.pinned) pin_key(server, *key);
}

}  // namespace mpixrma::nam
