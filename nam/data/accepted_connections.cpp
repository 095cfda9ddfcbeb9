#include "nam/data/accepted_connections.hpp"

#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
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

/// Minimum time between two scans of all open connections: a host that opens very many must not cause a scan
/// with each.
constexpr std::chrono::milliseconds scan_interval{100};
constexpr int scan_pause_factor = 10;  ///< the pause after a scan, in durations of the scan
/// Most connections that UCX accepts in a row: it accepts until none waits, and takes no message meanwhile.
constexpr int max_in_turn = 16;

struct Peer {
  HostAddress host{};
  std::uint16_t port = 0;
  bool operator==(Peer const&) const = default;
};

std::optional<Peer> peer_of(int socket) noexcept {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (::getpeername(socket, generic, &length) != 0) return std::nullopt;
  std::optional<HostAddress> const host = host_address(*generic);
  if (!host) return std::nullopt;
  // Both families have the port at the same place.
  return Peer{*host, reinterpret_cast<sockaddr_in const&>(address).sin_port};
}

bool has_sent_nothing(int socket) noexcept {
  tcp_info info{};
  socklen_t length = sizeof info;
  bool const is_known = ::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 &&
                        length >= offsetof(tcp_info, tcpi_bytes_received) + sizeof info.tcpi_bytes_received;
  return is_known && info.tcpi_bytes_received == 0;
}

/// The accepted connections that may still be open: UCX does not report when it closes one. The mutex is
/// needed because UCX calls accept() in a thread of its own.
class Accepted {
 public:
  void set_limit(std::size_t limit) noexcept {
    std::lock_guard const held(lock_);
    limit_ = limit;
  }
  bool is_bounded() noexcept {
    std::lock_guard const held(lock_);
    return limit_ != 0;
  }
  void admit(std::vector<HostAddress> const& hosts) {
    std::lock_guard const held(lock_);
    for (HostAddress const& host : hosts) ++sessions_[host];
  }
  void dismiss(std::vector<HostAddress> const& hosts) noexcept {
    std::lock_guard const held(lock_);
    for (HostAddress const& host : hosts) {
      auto const found = sessions_.find(host);
      if (found != sessions_.end() && --found->second == 0) sessions_.erase(found);
    }
  }
  /// Returns false if UCX is to do other work before it calls accept() again.
  bool take_turn() noexcept {
    std::lock_guard const held(lock_);
    if (limit_ == 0 || taken_in_turn_++ < max_in_turn) return true;
    taken_in_turn_ = 0;
    return false;
  }
  void end_turn() noexcept {
    std::lock_guard const held(lock_);
    taken_in_turn_ = 0;
  }
  /// Returns false if the connection is of a host that is not admitted, or exceeds a bound.
  bool add(int socket) noexcept {
    std::lock_guard const held(lock_);
    if (limit_ == 0) return true;
    std::optional<Peer> const peer = peer_of(socket);
    if (!peer || !sessions_.contains(peer->host)) {
      ++refused_.not_admitted;
      return false;
    }
    if (!has_room(*peer)) drop_closed();
    if (has_room(*peer)) {
      try {
        auto const now = Clock::now();
        open_.push_back({socket, *peer, now, now});
        ++open_of_[network_of(peer->host)];
        return true;
      } catch (std::bad_alloc const&) {
      }
    }
    ++refused_.beyond_limit;
    return false;
  }
  void end_unused(UnusedConnections const& longest) noexcept {
    std::lock_guard const held(lock_);
    auto const now = Clock::now();
    std::erase_if(open_, [&](Connection& connection) {
      if (has_closed(connection)) return true;
      if (sessions_.contains(connection.peer.host)) connection.admitted = now;
      bool const is_not_admitted = now - connection.admitted >= longest.without_session;
      if (!is_not_admitted && (now - connection.accepted < longest.silent || connection.has_spoken))
        return false;
      // A duplicate, because UCX may close its descriptor at any time, and the number may then be reused.
      engine::FileDescriptor const socket(::fcntl(connection.socket, F_DUPFD_CLOEXEC, 0));
      if (!socket || peer_of(socket.get()) != connection.peer) return false;
      connection.has_spoken = !has_sent_nothing(socket.get());
      if (is_not_admitted || !connection.has_spoken) (void)::shutdown(socket.get(), SHUT_RDWR);
      return false;
    });
  }
  RefusedConnections take_refused() noexcept {
    std::lock_guard const held(lock_);
    return std::exchange(refused_, {});
  }

 private:
  struct Connection {
    int socket;
    Peer peer;
    Clock::time_point accepted;
    Clock::time_point admitted;  ///< when its host was last seen to have a session
    bool has_spoken = false;
  };

  bool has_room(Peer const& peer) const noexcept {
    auto const of_host = open_of_.find(network_of(peer.host));
    std::size_t const count = of_host != open_of_.end() ? of_host->second : 0;
    return open_.size() < limit_ && count < std::max<std::size_t>(limit_ / 2, 1);
  }
  bool has_closed(Connection const& connection) noexcept {
    if (peer_of(connection.socket) == connection.peer) return false;
    auto const of_host = open_of_.find(network_of(connection.peer.host));
    if (of_host != open_of_.end() && --of_host->second == 0) open_of_.erase(of_host);
    return true;
  }
  void drop_closed() noexcept {
    auto const begin = Clock::now();
    if (begin < next_scan_) return;
    std::erase_if(open_, [this](Connection const& connection) { return has_closed(connection); });
    auto const end = Clock::now();
    next_scan_ = end + std::max<Clock::duration>(scan_interval, scan_pause_factor * (end - begin));
  }

  std::mutex lock_;
  std::size_t limit_ = 0;  ///< 0: no bound
  std::vector<Connection> open_;
  std::map<HostAddress, std::size_t> open_of_;  ///< number of open connections, by the peer's network
  Clock::time_point next_scan_;
  int taken_in_turn_ = 0;
  std::map<HostAddress, std::size_t> sessions_;  ///< number of sessions of each admitted host
  RefusedConnections refused_;
};

Accepted& accepted() noexcept {
  static Accepted all;
  return all;
}

}  // namespace

void limit_accepted_connections(std::size_t limit) noexcept { accepted().set_limit(limit); }

AdmittedHosts::AdmittedHosts(std::vector<HostAddress> hosts) {
  accepted().admit(hosts);
  hosts_ = std::move(hosts);
}

AdmittedHosts::~AdmittedHosts() { accepted().dismiss(hosts_); }

AdmittedHosts::AdmittedHosts(AdmittedHosts&& other) noexcept : hosts_(std::exchange(other.hosts_, {})) {}

AdmittedHosts& AdmittedHosts::operator=(AdmittedHosts&& other) noexcept {
  std::swap(hosts_, other.hosts_);
  return *this;
}

void end_unused_connections(UnusedConnections const& longest) noexcept { accepted().end_unused(longest); }

RefusedConnections take_refused_connections() noexcept { return accepted().take_refused(); }

namespace {

int accept_bounded(int listener, sockaddr* address, socklen_t* length) noexcept {
  socklen_t const room = length != nullptr ? *length : 0;
  while (accepted().take_turn()) {
    if (length != nullptr) *length = room;
    int const socket = ::accept4(listener, address, length, 0);
    if (socket >= 0 && !accepted().add(socket)) {
      ::close(socket);
      continue;
    }
    if (socket < 0) accepted().end_turn();
    // UCX would close its listener because of a shortage, although the shortage passes.
    if (socket < 0 && is_shortage(errno) && accepted().is_bounded()) errno = EAGAIN;
    return socket;
  }
  errno = EAGAIN;
  return -1;
}

}  // namespace

}  // namespace mpixrma::nam

/// UCX calls this function instead of the C library's.
extern "C" __attribute__((visibility("default"))) int accept(int listener, sockaddr* __restrict address,
                                                             socklen_t* __restrict length) {
  return mpixrma::nam::accept_bounded(listener, address, length);
}
