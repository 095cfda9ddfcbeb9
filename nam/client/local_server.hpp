/// Whether whoever listens at a Unix socket is the server that this user expects there.
#pragma once

#include <string>

#include "engine/segment/shared_memory.hpp"

namespace mpix::nam {

/// Of a connected Unix socket: its listener runs as root, as this user, or as the owner of the directory of
/// the socket, if nobody but root and this owner can change what `path` leads to. Throws Error(denied).
void check_local_server(engine::FileDescriptor const& socket, std::string const& path);

/// Whether the listener at `path`, if there is one, runs as root or as this user.
bool is_own_or_roots_server(std::string const& path);

}  // namespace mpix::nam
