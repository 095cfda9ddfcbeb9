/// Stream sockets: listening sockets of servers, and connections of clients.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "engine/base/shared_memory.hpp"

namespace mpixrma::nam {

using engine::FileDescriptor;

/// Credentials of the process at the other end of a Unix socket.
struct Credentials {
  uid_t uid;
  gid_t gid;
  pid_t pid;
};

/// Binds a socket at `path` without listening, replacing a socket at which no process listens any more. The
/// process that calls listen_at() appears to clients as the server. Throws Error.
FileDescriptor bind_unix(std::string const& path, mode_t mode);
void listen_at(FileDescriptor const& bound);
FileDescriptor listen_unix(std::string const& path, mode_t mode);
/// Listens at "HOST:PORT"; port 0 selects any free port. Throws Error.
FileDescriptor listen_tcp(std::string const& endpoint);
/// Returns the port at which a TCP socket listens; 0 for other sockets.
std::uint16_t port_of(FileDescriptor const& socket);
/// Returns a pending connection, or nothing.
FileDescriptor accept_from(FileDescriptor const& listener);

/// Return a connected socket, or nothing if no process listens. connect_tcp() waits at most `timeout_ms` for
/// each address of the host. Throw Error.
FileDescriptor connect_unix(std::string const& path);
FileDescriptor connect_tcp(std::string const& host, std::uint16_t port, int timeout_ms);

/// Ends a TCP connection whose other end has not acknowledged anything for `span`; does nothing for other
/// sockets.
void bound_silence(FileDescriptor const& socket, std::chrono::seconds span) noexcept;

/// Returns nothing for sockets that are not Unix sockets.
std::optional<Credentials> credentials_of(FileDescriptor const& socket);

}  // namespace mpixrma::nam
