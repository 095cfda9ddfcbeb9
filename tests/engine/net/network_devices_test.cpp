#include "engine/net/network_devices.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>

#include "engine/net/ucx_context.hpp"

namespace mpixrma::engine {
namespace {

std::uint32_t constexpr ip(unsigned a, unsigned b, unsigned c, unsigned d) {
  return a << 24 | b << 16 | c << 8 | d;
}

std::vector<NetworkDevice> const devices = {
    {"lo", "tcp"}, {"eth0", "tcp"}, {"eth1", "tcp"}, {"mlx5_0:1", "rc_verbs"}, {"mlx5_0:1", "ud_verbs"}};
std::vector<InterfaceAddress> const addresses = {{"lo", ip(127, 0, 0, 1)},
                                                 {"eth0", ip(192, 0, 2, 7)},
                                                 {"eth1", ip(10, 1, 2, 3)},
                                                 {"eth1", ip(10, 9, 2, 3)}};

std::string permitted(char const* rule) { return permitted_devices(rule, devices, addresses); }

std::set<std::string> texts_of(std::vector<InterfaceAddress> const& given) {
  std::set<std::string> texts;
  for (InterfaceAddress const& each : given) texts.insert(each.interface + " " + text_of(each));
  return texts;
}

/// Returns the addresses that the C library knows.
std::set<std::string> known_addresses() {
  std::set<std::string> texts;
  ifaddrs* all = nullptr;
  EXPECT_EQ(::getifaddrs(&all), 0);
  for (ifaddrs const* each = all; each != nullptr; each = each->ifa_next) {
    if ((each->ifa_flags & IFF_UP) == 0 || each->ifa_addr == nullptr) continue;
    if (each->ifa_addr->sa_family != AF_INET) continue;
    char text[INET_ADDRSTRLEN] = {};
    ::inet_ntop(AF_INET, &reinterpret_cast<sockaddr_in const*>(each->ifa_addr)->sin_addr, text, sizeof text);
    texts.insert(std::string(each->ifa_name) + " " + text);
  }
  ::freeifaddrs(all);
  return texts;
}

/// Gives the loopback interface another address, as an alias. Returns false if the kernel refuses.
bool add_address(int socket, unsigned number) {
  ifreq request{};
  std::snprintf(request.ifr_name, sizeof request.ifr_name, "lo:%u", number);
  auto* const address = reinterpret_cast<sockaddr_in*>(&request.ifr_addr);
  address->sin_family = AF_INET;
  address->sin_addr.s_addr = htonl(ip(127, 0, 1, number));
  return ::ioctl(socket, SIOCSIFADDR, &request) == 0;
}

/// Called in a child process with a network namespace of its own. Returns 0 if all addresses are found while
/// the interface is active, and none afterwards.
int many_addresses_are_found(unsigned count) {
  int const socket = ::socket(AF_INET, SOCK_DGRAM, 0);
  ifreq loopback{};
  std::strcpy(loopback.ifr_name, "lo");
  loopback.ifr_flags = IFF_UP;
  if (::ioctl(socket, SIOCSIFFLAGS, &loopback) != 0) return 1;
  for (unsigned number = 1; number <= count; ++number) {
    if (!add_address(socket, number)) return 2;
  }
  std::vector<InterfaceAddress> const found = interface_addresses();
  if (found.size() <= count) return 3;
  if (texts_of(found) != known_addresses()) return 4;
  loopback.ifr_flags = 0;
  if (::ioctl(socket, SIOCSIFFLAGS, &loopback) != 0) return 5;
  return interface_addresses().empty() ? 0 : 6;  // the interface is not active
}

TEST(NetworkDevices, AddressesMatchGetifaddrs) {
  EXPECT_EQ(texts_of(interface_addresses()), known_addresses());
}

TEST(NetworkDevices, FindsAddressesOfActiveInterfacesOnly) {
  pid_t const child = ::fork();
  ASSERT_GE(child, 0);
  constexpr int refused = 77;
  if (child == 0) {
    bool const apart = ::unshare(CLONE_NEWNET) == 0 || ::unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0;
    ::_exit(apart ? many_addresses_are_found(100) : refused);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == refused) GTEST_SKIP() << "the kernel permits no network namespace";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(NetworkDevices, NamesAndSubnetsSelectInterfacesOfTheirNetworkOnly) {
  EXPECT_EQ(permitted("eth1"), "eth1,mlx5_0:1");
  EXPECT_EQ(permitted("192.0.2.0/24"), "eth0,mlx5_0:1");
  EXPECT_EQ(permitted("10.9.0.0/16,lo"), "lo,eth1,mlx5_0:1");
  EXPECT_EQ(permitted("0.0.0.0/0"), "lo,eth0,eth1,mlx5_0:1");
  EXPECT_EQ(permitted("10.1.2.3/32"), "eth1,mlx5_0:1");
}

TEST(NetworkDevices, NamesBehindACaretAreExcluded) {
  EXPECT_EQ(permitted("^127.0.0.1/8,sppp"), "eth0,eth1,mlx5_0:1");
  EXPECT_EQ(permitted("^eth0,eth1"), "lo,mlx5_0:1");
  EXPECT_EQ(permitted("^"), "lo,eth0,eth1,mlx5_0:1");
}

TEST(NetworkDevices, NamesBehindAPlusAreForOtherHosts) {
  EXPECT_EQ(permitted("+^127.0.0.1/8,eth0"), "lo,eth1,mlx5_0:1");
  EXPECT_EQ(permitted("+10.9.0.0/16"), "lo,eth1,mlx5_0:1");
  EXPECT_EQ(permitted("+"), "lo,mlx5_0:1");
}

TEST(NetworkDevices, RuleWithoutMatchPermitsLoopback) {
  EXPECT_EQ(permitted("eth7"), "mlx5_0:1,lo");
  EXPECT_EQ(permitted("172.16.0.0/12,,nonsense/x"), "mlx5_0:1,lo");
  EXPECT_EQ(permitted("^0.0.0.0/0"), "mlx5_0:1,lo");
  EXPECT_EQ(permitted_devices("eth0", {}, {}), "lo");
}

TEST(NetworkDevices, AdvertisesFirstPermittedAddress) {
  auto const chosen = [](char const* rule) {
    auto const found = permitted_address(rule, addresses);
    return found ? text_of(*found) : "none";
  };
  EXPECT_EQ(chosen("^127.0.0.1/8"), "192.0.2.7");
  EXPECT_EQ(chosen("^eth0"), "10.1.2.3");
  EXPECT_EQ(chosen("10.9.0.0/16"), "10.9.2.3");
  EXPECT_EQ(chosen("eth1"), "10.1.2.3");
  EXPECT_EQ(chosen("127.0.0.0/8"), "none");
  EXPECT_EQ(chosen("eth7"), "none");
  EXPECT_EQ(chosen("+10.9.0.0/16"), "10.9.2.3");
}

TEST(NetworkDevices, ThisHostHasLoopbackDevice) {
  std::vector<NetworkDevice> found = network_devices();
  std::erase_if(found, [](NetworkDevice const& device) { return device.transport != "tcp"; });
  EXPECT_TRUE(std::any_of(found.begin(), found.end(), [](auto const& d) { return d.name == "lo"; }));
  EXPECT_EQ(permitted_devices("127.0.0.0/8", found, interface_addresses()), "lo");
}

/// Does not depend on the devices of the host.
TEST(UcxTransports, FollowConfiguration) {
  auto const left_by = [](char const* setting) {
    ::setenv("UCX_TLS", setting, 1);
    UcxContext context(common_log);
    EXPECT_EQ(context.open({.remote_memory = true}), Status::ok) << setting;
    ::unsetenv("UCX_TLS");
    return context.transports();
  };
  auto const contains = [](std::vector<std::string> const& found, char const* transport) {
    return std::find(found.begin(), found.end(), transport) != found.end();
  };
  EXPECT_TRUE(contains(left_by("tcp,self"), "tcp"));
  EXPECT_TRUE(contains(left_by("tcp,self"), "self"));
  EXPECT_FALSE(contains(left_by("tcp,self"), "posix"));
  EXPECT_TRUE(contains(left_by("posix,self"), "posix"));
  EXPECT_FALSE(contains(left_by("posix,self"), "tcp"));
}

}  // namespace
}  // namespace mpixrma::engine
