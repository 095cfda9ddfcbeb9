/// Attacks by clients that ask the control process and do not read its answers.
#include <poll.h>
#include <sys/socket.h>

#include <memory>
#include <string>
#include <vector>

#include "nam/protocol/channel.hpp"
#include "nam/protocol/socket.hpp"
#include "nam/protocol/version.hpp"
#include "tests/nam/attacks/attack.hpp"
#include "tests/nam/attacks/server_resources.hpp"
#include "tests/nam/attacks/users.hpp"
#include "tests/nam/windows_of_server.hpp"

namespace mpixrma::nam {
namespace {

constexpr std::size_t share = 16u << 20;  ///< bytes of unread answers that a user may have

class Answers : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!is_root()) GTEST_SKIP() << "needs other users";
    start_with_descriptors(server, TestServer::defaults(), 4096, 4096);
    grant = server.grant(1u << 20, {{"owner", std::to_string(attacker)}});
    std::vector<std::uint64_t> const sizes(60000, 0);
    std::vector<std::uint64_t> const units(60000, 1000000000000000);
    (void)Session::open(grant).allocate(sizes, units, {.persistent = true});
    answer_bytes = server.ask(show()).dump().size();
    ASSERT_GT(answer_bytes, 1u << 20);
  }
  Json show() const { return {{"op", "show"}, {"grant", grant.grant}}; }
  std::vector<Channel> ask(std::size_t count) const {
    std::vector<Channel> made;
    Json request = show();
    request["version"] = protocol_version;
    for (std::size_t i = 0; i < count; ++i) {
      Channel& each = made.emplace_back(connect_unix(server.address().unix_path), ChannelLimits{});
      each.post(request);
      EXPECT_TRUE(each.flush());
    }
    return made;
  }

  TestServer server;
  Locator grant;
  std::size_t answer_bytes = 0;
};

TEST_F(Answers, UnreadRepliesUseBoundedMemory) {
  constexpr std::size_t count = 100;
  pid_t const control = server.control_process();
  std::size_t const before = resident_bytes(control);
  Attack const attack(attacker, [&] {
    auto asked = std::make_shared<std::vector<Channel>>(ask(count));
    // Connections beyond the share end. The others keep their answers.
    std::size_t const kept = share / answer_bytes;
    bool const is_bounded = eventually([&] {
      std::size_t open = 0;
      for (Channel const& each : *asked) {
        pollfd entry{each.descriptor(), POLLRDHUP, 0};
        if (::poll(&entry, 1, 0) == 0) ++open;
      }
      return open <= kept && open > 0;
    });
    return is_bounded ? asked : nullptr;
  });
  EXPECT_LT(resident_bytes(control), before + share + (24u << 20));
  EXPECT_TRUE(as_user(harmless, [&] { return server.ask({{"op", "usage"}}).contains("capacity"); }));
}

/// The share of a user is not used up by answers that are read.
TEST_F(Answers, ReadRepliesDoNotCountAgainstTheShare) {
  EXPECT_TRUE(as_user(attacker, [&] {
    for (int i = 0; i < 20; ++i) {
      if (server.ask(show()).at("window_list").empty()) return false;
    }
    return true;
  }));
}

}  // namespace
}  // namespace mpixrma::nam
