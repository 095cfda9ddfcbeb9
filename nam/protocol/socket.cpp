#include "nam/protocol/socket.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>

#include "nam/protocol/creation_mask.hpp"
#include "nam/protocol/locator.hpp"
#include "nam/protocol/shortage.hpp"

namespace mpixrma::nam {

namespace {

constexpr int stream = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
constexpr int backlog = 4096;
constexpr std::chrono::seconds longest_full_queue{5};
constexpr std::chrono::milliseconds full_queue_pause{1};

[[noreturn]] void fail(std::string const& what) { throw_unavailable(what, errno); }

sockaddr_un unix_address(std::string const& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    throw Error(ErrorCode::bad_request, "the path of the socket is too long: " + path);
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

sockaddr const* generic(sockaddr_un const& address) { return reinterpret_cast<sockaddr const*>(&address); }

using AddressList = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

AddressList resolve(std::string const& host, std::string const& port, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  int const error = ::getaddrinfo(host.empty() ? nullptr : host.c_str(), port.c_str(), &hints, &found);
  if (error != 0)
    throw Error(ErrorCode::unavailable, "no address of '" + host + "': " + ::gai_strerror(error));
  return {found, ::freeaddrinfo};
}

bool wait_until_connected(FileDescriptor const& socket, int timeout_ms) {
  pollfd entry{socket.get(), POLLOUT, 0};
  int error = 0;
  socklen_t length = sizeof error;
  return ::poll(&entry, 1, timeout_ms) == 1 &&
         ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0;
}

}  // namespace

FileDescriptor bind_unix(std::string const& path, mode_t mode) {
  sockaddr_un const address = unix_address(path);
  if (connect_unix(path)) throw Error(ErrorCode::exists, "another process listens at " + path + " already");
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode)) ::unlink(path.c_str());
  FileDescriptor socket(::socket(AF_UNIX, stream, 0));
  // Created with its mode: chmod() by path could change another file, if the directory belongs to another
  // user who exchanges the two files.
  ScopedUmask const mask(~mode & (S_IRWXU | S_IRWXG | S_IRWXO));
  if (!socket || ::bind(socket.get(), generic(address), sizeof address) != 0)
    fail("cannot listen at " + path);
  return socket;
}

void listen_at(FileDescriptor const& bound) {
  if (::listen(bound.get(), backlog) != 0) fail("cannot listen");
}

FileDescriptor listen_unix(std::string const& path, mode_t mode) {
  FileDescriptor socket = bind_unix(path, mode);
  listen_at(socket);
  return socket;
}

FileDescriptor listen_tcp(std::string const& endpoint) {
  auto const place = parse_endpoint(endpoint);
  if (!place)
    throw Error(ErrorCode::bad_request, "'" + endpoint + "' is not HOST:PORT with a port from 0 to 65535");
  AddressList const found = resolve(place->host, std::to_string(place->port), AI_PASSIVE);
  FileDescriptor socket(::socket(found->ai_family, stream, 0));
  int const yes = 1;
  if (!socket || ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      ::bind(socket.get(), found->ai_addr, found->ai_addrlen) != 0 || ::listen(socket.get(), backlog) != 0)
    fail("cannot listen at " + endpoint);
  return socket;
}

std::uint16_t port_of(FileDescriptor const& socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0) return 0;
  if (address.ss_family == AF_INET) return ntohs(reinterpret_cast<sockaddr_in const*>(&address)->sin_port);
  if (address.ss_family == AF_INET6) return ntohs(reinterpret_cast<sockaddr_in6 const*>(&address)->sin6_port);
  return 0;
}

FileDescriptor accept_from(FileDescriptor const& listener) {
  FileDescriptor socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  int const yes = 1;
  if (socket) (void)::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  return socket;
}

/// Waits a few seconds at most for room in the listener's queue: a blocking connect() to a listener that
/// accepts no connections would wait for ever.
FileDescriptor connect_unix(std::string const& path) {
  sockaddr_un const address = unix_address(path);
  FileDescriptor socket(::socket(AF_UNIX, stream, 0));
  auto const end = std::chrono::steady_clock::now() + longest_full_queue;
  while (!socket || ::connect(socket.get(), generic(address), sizeof address) != 0) {
    if (!socket || errno != EAGAIN) return {};
    if (std::chrono::steady_clock::now() >= end)
      throw Error(ErrorCode::unavailable, "the process that listens at " + path + " accepts no connections");
    std::this_thread::sleep_for(full_queue_pause);
  }
  return socket;
}

FileDescriptor connect_tcp(std::string const& host, std::uint16_t port, int timeout_ms) {
  AddressList const found = resolve(host, std::to_string(port), 0);
  for (addrinfo const* each = found.get(); each != nullptr; each = each->ai_next) {
    FileDescriptor socket(::socket(each->ai_family, stream, 0));
    if (!socket) continue;
    bool const started =
        ::connect(socket.get(), each->ai_addr, each->ai_addrlen) == 0 || errno == EINPROGRESS;
    if (!started || !wait_until_connected(socket, timeout_ms)) continue;
    int const yes = 1;
    (void)::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    return socket;
  }
  return {};
}

void bound_silence(FileDescriptor const& socket, std::chrono::seconds span) noexcept {
  auto const set = [&](int level, int option, int value) {
    (void)::setsockopt(socket.get(), level, option, &value, sizeof value);
  };
  // Keepalive probes detect a dead host while nothing is sent, the user timeout while data is in flight.
  constexpr int probes = 3;
  int const total = static_cast<int>(std::clamp<std::int64_t>(span.count(), 4, 32767));
  int const interval = std::max(total / (probes + 1), 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, interval);
  set(IPPROTO_TCP, TCP_KEEPINTVL, interval);
  set(IPPROTO_TCP, TCP_KEEPCNT, probes);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 1000 * total);
}

std::optional<Credentials> credentials_of(FileDescriptor const& socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0 ||
      address.ss_family != AF_UNIX)
    return std::nullopt;
  ucred found{};
  length = sizeof found;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &found, &length) != 0) return std::nullopt;
  return Credentials{found.uid, found.gid, found.pid};
}

}  // namespace mpixrma::nam
