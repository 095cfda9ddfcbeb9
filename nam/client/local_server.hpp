/// Whether whoever listens at a Unix socket is the server that this user expects there.
#pragma once

#include <string>

#include "engine/base/shared_memory.hpp"

namespace mpixrma::nam {

/// Of a connected Unix socket: its listener runs as root, as this user, or as the owner of the directory of
/// the socket, if nobody but root and this owner can change what `path` leads to. Throws Error(denied).
void check_local_server(engine::FileDescriptor const& socket, std::string const& path);

enum class Listener { none, own_or_root, other };

/// Owner of the socket at `path`: none, root or this user, or another user.
Listener listener_at(std::string const& path);

}  // namespace mpixrma::nam
