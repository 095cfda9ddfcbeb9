/// Addresses of hosts, and those from which a client may connect.
#include "nam/protocol/host_address.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <algorithm>
#include <set>

namespace mpixrma::nam {
namespace {

using Texts = std::set<std::string>;

HostAddress host(char const* text) { return host_address(std::string(text)).value(); }

Texts admitted(ConnectionEnds const& session, std::vector<std::string> const& sent) {
  Texts texts;
  for (HostAddress const& each : hosts_of_client(session, sent)) texts.insert(to_text(each));
  return texts;
}

TEST(HostAddress, EqualsItsFormMappedToIpv6) {
  EXPECT_EQ(host("10.1.2.3"), host("::ffff:10.1.2.3"));
  EXPECT_EQ(to_text(host("::ffff:10.1.2.3")), "10.1.2.3");
  sockaddr_in ipv4{};
  ipv4.sin_family = AF_INET;
  ::inet_pton(AF_INET, "10.1.2.3", &ipv4.sin_addr);
  EXPECT_EQ(host_address(reinterpret_cast<sockaddr const&>(ipv4)), host("10.1.2.3"));
  for (char const* text : {"", "10.1.2", "10.1.2.3/8", "host", "fe80::1%lo", "1.2.3.4.5", ":::"})
    EXPECT_FALSE(host_address(std::string(text))) << text;
}

TEST(HostAddress, LoopbackAndNetwork) {
  for (char const* text : {"127.0.0.1", "127.9.8.7", "::1", "::ffff:127.0.0.1"})
    EXPECT_TRUE(is_loopback(host(text))) << text;
  for (char const* text : {"128.0.0.1", "::2", "::", "fe80::1", "7f00::1"})
    EXPECT_FALSE(is_loopback(host(text))) << text;
  EXPECT_EQ(to_text(network_of(host("2001:db8::1:2:3:4"))), "2001:db8::");
  EXPECT_EQ(to_text(network_of(host("10.1.2.3"))), "10.1.2.3");
}

TEST(HostAddress, RemoteClientAdmitsItsAddressesExceptLoopback) {
  ConnectionEnds const session{host("10.0.0.2"), host("10.0.0.1")};
  EXPECT_EQ(admitted(session, {"127.0.0.1", "::1", "192.168.0.2", "2001:db8::2", "nonsense"}),
            (Texts{"10.0.0.2", "192.168.0.2", "2001:db8::2"}));
  EXPECT_EQ(admitted(session, {}), Texts{"10.0.0.2"});
  EXPECT_EQ(admitted({std::nullopt, host("10.0.0.1")}, {"127.0.0.1"}), Texts{}) << "it has hung up";
}

TEST(HostAddress, ClientOfThisHostAdmitsLoopback) {
  EXPECT_EQ(admitted({}, {"127.0.0.1", "10.0.0.1"}), (Texts{"127.0.0.1", "10.0.0.1"}));
  EXPECT_EQ(admitted({host("10.0.0.1"), host("10.0.0.1")}, {"127.0.0.1"}), (Texts{"127.0.0.1", "10.0.0.1"}));
  EXPECT_EQ(admitted({host("127.0.0.1"), host("127.0.0.1")}, {"::1"}), (Texts{"127.0.0.1", "::1"}));
}

TEST(HostAddress, ServerAcceptsBoundedNumberOfAddresses) {
  std::vector<std::string> sent;
  for (int i = 0; i < 1000; ++i)
    sent.push_back("10.1." + std::to_string(i / 256) + "." + std::to_string(i % 256));
  EXPECT_EQ(admitted({}, sent).size(), max_host_addresses);
}

TEST(HostAddress, OwnAddressesIncludeLoopback) {
  auto const own = own_host_addresses();
  EXPECT_NE(std::find(own.begin(), own.end(), "127.0.0.1"), own.end());
  for (std::string const& each : own) EXPECT_TRUE(host_address(each)) << each;
}

}  // namespace
}  // namespace mpixrma::nam
