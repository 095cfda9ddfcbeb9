#include "nam/data/accepted_connections.hpp"

#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "engine/base/shared_memory.hpp"
#include "nam/protocol/shortage.hpp"

namespace mpixrma::nam {

namespace {

using Clock = std::chrono::steady_clock;

/// Connections of a host that opens very many must not each cause a look at all open ones.
constexpr std::chrono::milliseconds look_interval{100};

/// A peer by its IPv4 address, or by the network of its IPv6 address.
struct Peer {
  std::uint64_t host = 0;
  std::uint16_t port = 0;
  bool operator==(Peer const&) const = default;
};

std::optional<Peer> peer_of(int socket) noexcept {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0) return std::nullopt;
  Peer peer;
  if (address.ss_family == AF_INET) {
    auto const& ipv4 = reinterpret_cast<sockaddr_in const&>(address);
    peer = {ipv4.sin_addr.s_addr, ipv4.sin_port};
  } else if (address.ss_family == AF_INET6) {
    auto const& ipv6 = reinterpret_cast<sockaddr_in6 const&>(address);
    std::memcpy(&peer.host, &ipv6.sin6_addr, sizeof peer.host);
    peer.port = ipv6.sin6_port;
  } else {
    return std::nullopt;
  }
  return peer;
}

bool has_sent_nothing(int socket) noexcept {
  tcp_info info{};
  socklen_t length = sizeof info;
  bool const is_known = ::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 &&
                        length >= offsetof(tcp_info, tcpi_bytes_received) + sizeof info.tcpi_bytes_received;
  return is_known && info.tcpi_bytes_received == 0;
}

/// The accepted connections that may still be open: UCX does not report when it closes one. UCX calls
/// accept() in a thread of its own.
class Accepted {
 public:
  void bound(std::size_t most) noexcept {
    std::lock_guard const held(lock_);
    most_ = most;
  }
  bool is_bounded() noexcept {
    std::lock_guard const held(lock_);
    return most_ != 0;
  }
  /// Returns false if the connection exceeds a bound.
  bool add(int socket) noexcept {
    std::lock_guard const held(lock_);
    std::optional<Peer> const peer = peer_of(socket);
    if (most_ == 0 || !peer) return true;
    if (!has_room(*peer)) drop_closed();
    if (has_room(*peer)) {
      try {
        open_.push_back({socket, *peer, Clock::now()});
        return true;
      } catch (std::bad_alloc const&) {
      }
    }
    ++refused_;
    return false;
  }
  void end_silent(std::chrono::milliseconds silence) noexcept {
    std::lock_guard const held(lock_);
    auto const now = Clock::now();
    std::erase_if(open_, [&](Connection& connection) {
      if (peer_of(connection.socket) != connection.peer) return true;
      if (now - connection.accepted < silence || connection.has_spoken) return false;
      // A descriptor of its own: UCX may close the other one at any time, and its number may be another's.
      engine::FileDescriptor const socket(::fcntl(connection.socket, F_DUPFD_CLOEXEC, 0));
      if (!socket || peer_of(socket.get()) != connection.peer) return false;
      connection.has_spoken = !has_sent_nothing(socket.get());
      if (!connection.has_spoken) (void)::shutdown(socket.get(), SHUT_RDWR);
      return false;
    });
  }
  std::uint64_t take_refused() noexcept {
    std::lock_guard const held(lock_);
    return std::exchange(refused_, 0);
  }

 private:
  struct Connection {
    int socket;
    Peer peer;
    Clock::time_point accepted;
    bool has_spoken = false;
  };

  bool has_room(Peer const& peer) const noexcept {
    auto const of_host = std::count_if(open_.begin(), open_.end(), [&](Connection const& connection) {
      return connection.peer.host == peer.host;
    });
    return open_.size() < most_ && static_cast<std::size_t>(of_host) < std::max<std::size_t>(most_ / 2, 1);
  }
  void drop_closed() noexcept {
    auto const now = Clock::now();
    if (now - looked_ < look_interval) return;
    looked_ = now;
    std::erase_if(open_,
                  [](Connection const& connection) { return peer_of(connection.socket) != connection.peer; });
  }

  std::mutex lock_;
  std::size_t most_ = 0;  ///< 0: no bound
  std::vector<Connection> open_;
  Clock::time_point looked_;
  std::uint64_t refused_ = 0;
};

Accepted& accepted() noexcept {
  static Accepted all;
  return all;
}

}  // namespace

void bound_accepted_connections(std::size_t most) noexcept { accepted().bound(most); }

void end_silent_connections(std::chrono::milliseconds silence) noexcept { accepted().end_silent(silence); }

std::uint64_t take_refused_connections() noexcept { return accepted().take_refused(); }

namespace {

int accept_bounded(int listener, sockaddr* address, socklen_t* length) noexcept {
  socklen_t const room = length != nullptr ? *length : 0;
  for (;;) {
    if (length != nullptr) *length = room;
    int const socket = ::accept4(listener, address, length, 0);
    if (socket >= 0 && !accepted().add(socket)) {
      ::close(socket);
      continue;
    }
    // UCX would close its listener for a shortage, which passes.
    if (socket < 0 && is_shortage(errno) && accepted().is_bounded()) errno = EAGAIN;
    return socket;
  }
}

}  // namespace

}  // namespace mpixrma::nam

/// In the place of the C library's, for UCX.
extern "C" __attribute__((visibility("default"))) int accept(int listener, sockaddr* __restrict address,
                                                             socklen_t* __restrict length) {
  return mpixrma::nam::accept_bounded(listener, address, length);
}
