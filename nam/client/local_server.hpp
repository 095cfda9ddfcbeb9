/// Checks that the listener at a Unix socket is the server that this user expects.
#pragma once

#include <string>

#include "engine/base/shared_memory.hpp"

namespace mpixrma::nam {

/// Checks that the listener of a connected Unix socket runs as root, as this user, or as the owner of the
/// socket's directory, provided that only root and this owner can change what `path` leads to. Throws
/// Error(denied).
void check_local_server(engine::FileDescriptor const& socket, std::string const& path);

enum class Listener { none, own_or_root, other };

struct FoundListener {
  Listener owner = Listener::none;
  std::string path;  ///< only root and this user can change what it leads to, if one of them is the owner
};

/// Finds the listener at `path`. If another user can change what the path leads to, `owner` is
/// Listener::other.
FoundListener find_listener(std::string const& path);

}  // namespace mpixrma::nam
