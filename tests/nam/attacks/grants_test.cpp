/// Attacks on grants: more of them, larger ones, and for longer than the server has or permits.
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/nam/windows_of_server.hpp"

namespace mpixrma::nam {
namespace {

constexpr uid_t user = 64003;

TEST(Grants, ReserveTheirMemory) {
  TestServer server;
  server.start({"--size", "1T", "--listen", "none"});
  EXPECT_EQ(refusal([&] { server.grant(std::uint64_t{900} << 30); }), ErrorCode::no_space);
  EXPECT_TRUE(server.ask({{"op", "list"}}).at("grants").empty());
  Locator const grant = server.grant(8u << 20);
  Session session = Session::open(grant);
  GrantMapping const memory = session.map();
  WindowInfo const window = session.allocate({8u << 20}, {1});
  std::vector<unsigned char> resident((8u << 20) / 4096);
  auto const all_resident = [&] {
    EXPECT_EQ(::mincore(memory.at(window.regions[0]), 8u << 20, resident.data()), 0);
    return std::all_of(resident.begin(), resident.end(), [](unsigned char page) { return (page & 1) != 0; });
  };
  EXPECT_TRUE(all_resident());
  // Also what a window has had.
  session.write(window, 0, 0, pattern(1u << 20, 1));
  session.release(window);
  EXPECT_TRUE(all_resident());
  EXPECT_EQ(content(session, session.allocate({1u << 20}, {1}), 0), std::vector<std::byte>(1u << 20));
}

TEST(Grants, OvercommitOnRequestOnly) {
  TestServer server;
  server.start({"--size", "1T", "--listen", "none", "--overcommit"});
  EXPECT_EQ(refusal([&] { server.grant(std::uint64_t{900} << 30); }), std::nullopt);
}

class OwnGrants : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!is_root()) GTEST_SKIP() << "needs other users";
    server_.start({"--size", "64M", "--listen", "none", "--self-service", "16M", "--max-user-grants", "5"});
    server_.admit_all_users();
  }
  Json revoke(Locator const& grant) const { return {{"op", "revoke"}, {"grant", grant.grant}}; }

  TestServer server_;
};

TEST_F(OwnGrants, AreLimitedInNumber) {
  EXPECT_TRUE(as_user(user, [&] {
    std::vector<Locator> grants;
    for (int i = 0; i < 5; ++i) grants.push_back(server_.grant(4096));
    bool const limited = refusal([&] { server_.grant(4096); }) == ErrorCode::quota;
    server_.ask(revoke(grants.front()));
    return limited && eventually([&] { return !refusal([&] { server_.grant(4096); }); });
  }));
  // An administrator gives more.
  EXPECT_EQ(refusal([&] { server_.grant(4096, {{"owner", std::to_string(user)}}); }), std::nullopt);
}

/// A process that still maps the memory of a grant that has ended has none of it.
TEST_F(OwnGrants, GiveMemoryBackThoughItIsMapped) {
  EXPECT_TRUE(as_user(user, [&] {
    Locator const grant = server_.grant(8u << 20);
    Session session = Session::open(grant);
    GrantMapping const memory = session.map();
    WindowInfo const window = session.allocate({8u << 20}, {1});
    std::memset(memory.at(window.regions[0]), 1, 8u << 20);
    server_.ask(revoke(grant));
    std::vector<unsigned char> resident((8u << 20) / 4096);
    return eventually([&] {
      return ::mincore(memory.at(window.regions[0]), 8u << 20, resident.data()) == 0 &&
             std::none_of(resident.begin(), resident.end(),
                          [](unsigned char page) { return (page & 1) != 0; });
    });
  }));
}

/// What such a process uses again counts for its user, as long as the server can see it.
TEST_F(OwnGrants, CountMemoryThatIsUsedAfterTheirEnd) {
  EXPECT_TRUE(as_user(user, [&] {
    Locator const grant = server_.grant(16u << 20);
    Session session = Session::open(grant);
    GrantMapping const memory = session.map();
    WindowInfo const window = session.allocate({16u << 20}, {1});
    std::byte* const bytes = memory.at(window.regions[0]);
    server_.ask(revoke(grant));
    bool refused = false;
    for (int round = 0; round < 200 && !refused; ++round) {
      std::memset(bytes, 1, 16u << 20);
      auto const code = refusal([&] { server_.grant(16u << 20); });
      refused = code == ErrorCode::quota;
      if (!code) break;
    }
    return refused && eventually([&] { return !refusal([&] { server_.grant(16u << 20); }); });
  }));
}

TEST_F(OwnGrants, AreExtendedByThoseWhoMayMakeThem) {
  Locator const given = server_.grant(1u << 20, {{"owner", std::to_string(user)}, {"seconds", 1000}});
  EXPECT_TRUE(as_user(user, [&] {
    Locator const own = server_.grant(1u << 20, {{"seconds", 1000}});
    Json const extend{{"op", "extend"}, {"grant", own.grant}, {"seconds", 5000}};
    Json const extend_given{{"op", "extend"}, {"grant", given.grant}};
    return server_.ask(extend).at("expires_in").get<int>() > 4000 &&
           refusal([&] { server_.ask(extend_given); }) == ErrorCode::denied;
  }));
  EXPECT_GT(server_.ask({{"op", "extend"}, {"grant", given.grant}, {"seconds", 5000}}).at("expires_in"),
            4000);
}

}  // namespace
}  // namespace mpixrma::nam
