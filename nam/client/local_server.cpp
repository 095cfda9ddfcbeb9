#include "nam/client/local_server.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "nam/protocol/error.hpp"
#include "nam/protocol/socket.hpp"

namespace mpixrma::nam {

namespace {

namespace fs = std::filesystem;

/// Also checks each directory above, because a user who can rename one can replace the directory.
bool is_directory_of(fs::path directory, uid_t owner) {
  std::error_code error;
  directory = fs::canonical(directory, error);
  struct stat status {};
  if (error || ::stat(directory.c_str(), &status) != 0 || status.st_uid != owner) return false;
  for (fs::path each = directory;; each = each.parent_path()) {
    bool const known = ::stat(each.c_str(), &status) == 0;
    bool const others_write = (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
    if (!known || others_write || (status.st_uid != 0 && status.st_uid != owner)) return false;
    if (each == each.parent_path()) return true;
  }
}

bool is_own_or_root(uid_t uid) { return uid == 0 || uid == ::geteuid(); }

/// Whether only root and this user can exchange entries of `directory`, and the directory itself. `directory`
/// has no links. In a directory above it that has the sticky bit, others exchange only what belongs to them.
bool is_fixed(fs::path const& directory) {
  struct stat status {};
  for (fs::path each = directory;; each = each.parent_path()) {
    if (::stat(each.c_str(), &status) != 0 || !is_own_or_root(status.st_uid)) return false;
    bool const others_write = (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
    if (others_write && (each == directory || (status.st_mode & S_ISVTX) == 0)) return false;
    if (each == each.parent_path()) return true;
  }
}

}  // namespace

FoundListener find_listener(std::string const& path) {
  std::error_code error;
  fs::path const directory = fs::canonical(fs::path(path).parent_path(), error);
  FoundListener found{Listener::none, (directory / fs::path(path).filename()).string()};
  engine::FileDescriptor const socket =
      path.empty() || error ? engine::FileDescriptor() : connect_unix(found.path);
  auto const listener = socket ? credentials_of(socket) : std::nullopt;
  if (listener)
    found.owner =
        is_own_or_root(listener->uid) && is_fixed(directory) ? Listener::own_or_root : Listener::other;
  return found;
}

void check_local_server(engine::FileDescriptor const& socket, std::string const& path) {
  auto const listener = credentials_of(socket);
  if (!listener) throw Error(ErrorCode::denied, "cannot determine which user listens at " + path);
  if (is_own_or_root(listener->uid)) return;
  if (is_directory_of(fs::path(path).parent_path(), listener->uid)) return;
  throw Error(ErrorCode::denied, "user " + std::to_string(listener->uid) + " listens at " + path +
                                     ", who is neither root, nor this user, nor the owner of a directory "
                                     "that only this owner can change");
}

}  // namespace mpixrma::nam
