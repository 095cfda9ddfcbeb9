/// Addresses of hosts, by which a server recognises connections of one host.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mpixrma::nam {

/// An IPv6 address. An IPv4 address is mapped to IPv6, as IPv6 sockets report it.
using HostAddress = std::array<std::uint8_t, 16>;

/// Return nothing if the argument is not an IPv4 or IPv6 address.
std::optional<HostAddress> host_address(sockaddr const& address) noexcept;
std::optional<HostAddress> host_address(std::string const& text) noexcept;
/// The address at the other end of a socket.
std::optional<HostAddress> peer_host(int socket) noexcept;

bool is_loopback(HostAddress const& host) noexcept;
/// Returns the /64 network of an IPv6 address, because one host may have many addresses in it; an IPv4
/// address unchanged.
HostAddress network_of(HostAddress host) noexcept;
std::string to_text(HostAddress const& host);

/// The addresses of a connection; none for a Unix socket.
struct ConnectionEnds {
  std::optional<HostAddress> peer;
  std::optional<HostAddress> local;
};
ConnectionEnds ends_of(int socket) noexcept;

/// Most addresses of its host that a client sends, and that a server takes from it.
inline constexpr std::size_t max_host_addresses = 256;

/// Returns the addresses of this host's active interfaces as texts.
std::vector<std::string> own_host_addresses();

/// Returns the addresses from which a client may make further connections: that of its session, and those
/// that it has sent, because connections to other ports may leave its host by other interfaces. Loopback
/// addresses that another host has sent are left out: they would admit processes of this host.
std::vector<HostAddress> hosts_of_client(ConnectionEnds const& session, std::vector<std::string> const& sent);

}  // namespace mpixrma::nam
