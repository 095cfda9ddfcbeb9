#include "engine/net/network_devices.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

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

TEST(NetworkDevices, NamesAndSubnetsChooseInterfacesAndLeaveOtherNetworksAlone) {
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

TEST(NetworkDevices, ARuleThatLeavesNothingLeavesTheHostItself) {
  EXPECT_EQ(permitted("eth7"), "mlx5_0:1,lo");
  EXPECT_EQ(permitted("172.16.0.0/12,,nonsense/x"), "mlx5_0:1,lo");
  EXPECT_EQ(permitted("^0.0.0.0/0"), "mlx5_0:1,lo");
  EXPECT_EQ(permitted_devices("eth0", {}, {}), "lo");
}

TEST(NetworkDevices, OthersComeToTheFirstAddressThatTheRuleLeaves) {
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

TEST(NetworkDevices, ThisHostHasOneToItself) {
  std::vector<NetworkDevice> found = network_devices();
  std::erase_if(found, [](NetworkDevice const& device) { return device.transport != "tcp"; });
  EXPECT_TRUE(std::any_of(found.begin(), found.end(), [](auto const& d) { return d.name == "lo"; }));
  EXPECT_EQ(permitted_devices("127.0.0.0/8", found, interface_addresses()), "lo");
}

/// Does not depend on the devices of the host.
TEST(UcxTransports, AreThoseThatConfigurationLeaves) {
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
