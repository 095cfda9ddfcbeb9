/// Stream sockets: where servers listen, and how clients reach them.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "engine/base/shared_memory.hpp"

namespace mpixrma::nam {

using engine::FileDescriptor;

/// Who is at the other end of a Unix socket.
struct Credentials {
  uid_t uid;
  gid_t gid;
  pid_t pid;
};

/// Listens at `path`, in the place of a socket at which nobody listens any more. Throws Error.
/// The same without listening: a process that is passed the socket listens, and shows as its owner.
FileDescriptor bind_unix(std::string const& path, mode_t mode);
void listen_at(FileDescriptor const& bound);
FileDescriptor listen_unix(std::string const& path, mode_t mode);
/// Listens at "HOST:PORT"; port 0: any. Throws Error.
FileDescriptor listen_tcp(std::string const& endpoint);
/// The port at which a TCP socket listens; 0 for other sockets.
std::uint16_t port_of(FileDescriptor const& socket);
/// A connection that waits to be taken, or nothing.
FileDescriptor accept_from(FileDescriptor const& listener);

/// Connected, or nothing where nobody listens, within `timeout_ms`.
FileDescriptor connect_unix(std::string const& path);
FileDescriptor connect_tcp(std::string const& host, std::uint16_t port, int timeout_ms);

/// Ends a TCP connection whose other end has not acknowledged anything for `span`; nothing for other sockets.
void bound_silence(FileDescriptor const& socket, std::chrono::seconds span) noexcept;

/// Nothing for sockets that are not Unix sockets.
std::optional<Credentials> credentials_of(FileDescriptor const& socket);

}  // namespace mpixrma::nam
