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

}  // namespace

Listener listener_at(std::string const& path) {
  engine::FileDescriptor const socket = path.empty() ? engine::FileDescriptor() : connect_unix(path);
  auto const listener = socket ? credentials_of(socket) : std::nullopt;
  if (!listener) return Listener::none;
  return listener->uid == 0 || listener->uid == ::geteuid() ? Listener::own_or_root : Listener::other;
}

void check_local_server(engine::FileDescriptor const& socket, std::string const& path) {
  auto const listener = credentials_of(socket);
  if (!listener) throw Error(ErrorCode::denied, "cannot determine which user listens at " + path);
  if (listener->uid == 0 || listener->uid == ::geteuid()) return;
  if (is_directory_of(fs::path(path).parent_path(), listener->uid)) return;
  throw Error(ErrorCode::denied, "user " + std::to_string(listener->uid) + " listens at " + path +
                                     ", who is neither root, nor this user, nor the owner of a directory "
                                     "that only this owner can change");
}

}  // namespace mpixrma::nam
