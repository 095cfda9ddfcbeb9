/// Options of mpix-namd, and addresses.
#include "nam/server/options.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "nam/protocol/error.hpp"
#include "nam/protocol/locator.hpp"
#include "nam/protocol/socket.hpp"
#include "nam/server/exit_codes.hpp"

namespace mpixrma::nam {
namespace {

std::optional<Options> options_of(std::vector<char const*> arguments) {
  arguments.insert(arguments.begin(), {"mpix-namd", "--size", "1M"});
  int exit_code = exit_ok;
  auto options = read_options(static_cast<int>(arguments.size()), arguments.data(), &exit_code);
  EXPECT_EQ(exit_code, options ? exit_ok : exit_usage);
  return options;
}

TEST(Options, AddressesThatClientsCannotUseAreRefused) {
  EXPECT_TRUE(options_of({"--socket", "/run/a b?c,d/socket"}));
  std::string const long_path = "/" + std::string(300, 'x');
  for (char const* const socket :
       {"", "socket", "./socket", "/run/a&b", "/run/mpix-nam://a", long_path.c_str()})
    EXPECT_FALSE(options_of({"--socket", socket})) << socket;
  EXPECT_EQ(options_of({"--advertise", "[fd00::1]"}).value().advertise, "fd00::1");
  for (char const* const host : {"a&b", "a/b", "[fd00::1", "[]"})
    EXPECT_FALSE(options_of({"--advertise", host})) << host;
}

TEST(Options, InterfacesAreNamesAndSubnets) {
  for (char const* const good : {"lo", "^lo,eth0", "+10.1.0.0/16", "10.0.0.0/0,192.168.0.1/32", "+^eth1"})
    EXPECT_TRUE(options_of({"--interfaces", good})) << good;
  for (char const* const wrong : {"10.0.0.0/99", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/8x", "10.0.0.0/-1",
                                  "lo,10.0.0/8", "^fd00::/8", "eth0/16"})
    EXPECT_FALSE(options_of({"--interfaces", wrong})) << wrong;
}

TEST(Endpoint, HasHostAndPort) {
  EXPECT_EQ(parse_endpoint("[::1]:7863").value().host, "::1");
  EXPECT_EQ(parse_endpoint("::1:7863").value().host, "::1");
  EXPECT_EQ(parse_endpoint("node:65535").value().port, 65535);
  EXPECT_EQ(parse_address("tcp=[::1]:7863"), parse_address("tcp=::1:7863"));
  for (char const* const wrong :
       {"node", "node:", "node:65536", "node:-1", "node:1x", "[::1:1", "::1]:1", "[]:1"})
    EXPECT_FALSE(parse_endpoint(wrong)) << wrong;
  try {
    (void)listen_tcp("127.0.0.1:99999");
    ADD_FAILURE() << "listens at another port";
  } catch (Error const& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_request);
  }
}

}  // namespace
}  // namespace mpixrma::nam
