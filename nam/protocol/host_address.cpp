#include "nam/protocol/host_address.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <set>

namespace mpixrma::nam {

namespace {

HostAddress from_ipv4(in_addr const& address) noexcept {
  HostAddress host{};
  host[10] = host[11] = 0xff;
  std::memcpy(host.data() + 12, &address, sizeof address);
  return host;
}

HostAddress from_ipv6(in6_addr const& address) noexcept {
  HostAddress host;
  std::memcpy(host.data(), &address, host.size());
  return host;
}

in6_addr to_ipv6(HostAddress const& host) noexcept {
  in6_addr address;
  std::memcpy(&address, host.data(), host.size());
  return address;
}

bool is_ipv4(HostAddress const& host) noexcept {
  in6_addr const address = to_ipv6(host);
  return IN6_IS_ADDR_V4MAPPED(&address);
}

using Lookup = int (*)(int, sockaddr*, socklen_t*);

std::optional<HostAddress> end_of(int socket, Lookup look_up) noexcept {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (look_up(socket, generic, &length) != 0) return std::nullopt;
  return host_address(*generic);
}

}  // namespace

std::optional<HostAddress> host_address(sockaddr const& address) noexcept {
  if (address.sa_family == AF_INET) return from_ipv4(reinterpret_cast<sockaddr_in const&>(address).sin_addr);
  if (address.sa_family == AF_INET6)
    return from_ipv6(reinterpret_cast<sockaddr_in6 const&>(address).sin6_addr);
  return std::nullopt;
}

std::optional<HostAddress> host_address(std::string const& text) noexcept {
  in_addr ipv4{};
  if (::inet_pton(AF_INET, text.c_str(), &ipv4) == 1) return from_ipv4(ipv4);
  in6_addr ipv6{};
  if (::inet_pton(AF_INET6, text.c_str(), &ipv6) == 1) return from_ipv6(ipv6);
  return std::nullopt;
}

std::optional<HostAddress> peer_host(int socket) noexcept { return end_of(socket, ::getpeername); }

ConnectionEnds ends_of(int socket) noexcept { return {peer_host(socket), end_of(socket, ::getsockname)}; }

bool is_loopback(HostAddress const& host) noexcept {
  if (is_ipv4(host)) return host[12] == IN_LOOPBACKNET;
  in6_addr const address = to_ipv6(host);
  return IN6_IS_ADDR_LOOPBACK(&address);
}

HostAddress network_of(HostAddress host) noexcept {
  if (!is_ipv4(host)) std::fill(host.begin() + 8, host.end(), std::uint8_t{0});
  return host;
}

std::string to_text(HostAddress const& host) {
  char text[INET6_ADDRSTRLEN] = "";
  if (is_ipv4(host)) {
    (void)::inet_ntop(AF_INET, host.data() + 12, text, sizeof text);
  } else {
    (void)::inet_ntop(AF_INET6, host.data(), text, sizeof text);
  }
  return text;
}

std::vector<std::string> own_host_addresses() {
  std::vector<std::string> found;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return found;
  for (ifaddrs const* each = all; each != nullptr && found.size() < max_host_addresses;
       each = each->ifa_next) {
    if ((each->ifa_flags & IFF_UP) == 0 || each->ifa_addr == nullptr) continue;
    if (auto const host = host_address(*each->ifa_addr); host) found.push_back(to_text(*host));
  }
  ::freeifaddrs(all);
  return found;
}

std::vector<HostAddress> hosts_of_client(ConnectionEnds const& session,
                                         std::vector<std::string> const& sent) {
  std::optional<HostAddress> const& peer = session.peer;
  // A TCP connection that has ended has no peer.
  bool const is_of_this_host =
      peer ? is_loopback(*peer) || peer == session.local : !session.local.has_value();
  std::set<HostAddress> hosts;
  if (peer) hosts.insert(*peer);
  for (std::size_t i = 0; i < std::min(sent.size(), max_host_addresses); ++i) {
    std::optional<HostAddress> const host = host_address(sent[i]);
    if (host && (is_of_this_host || !is_loopback(*host))) hosts.insert(*host);
  }
  return {hosts.begin(), hosts.end()};
}

}  // namespace mpixrma::nam
