/// Attacks by data that the server keeps for users besides the memory of windows: names, and descriptions of
/// windows.
#include <poll.h>

#include <cstdlib>
#include <filesystem>

#include "nam/protocol/socket.hpp"
#include "nam/protocol/text.hpp"
#include "nam/protocol/version.hpp"
#include "nam/server/catalog.hpp"
#include "tests/nam/attacks/guest.hpp"
#include "tests/nam/attacks/tool.hpp"
#include "tests/nam/attacks/users.hpp"

namespace mpixrma::nam {
namespace {

class Names : public ::testing::Test {
 protected:
  void start(TestServer::Arguments const& more = {}) {
    TestServer::Arguments arguments = TestServer::defaults();
    arguments.insert(arguments.end(), more.begin(), more.end());
    server.start(arguments);
    server.admit_all_users();
  }
  /// Starts the server with names that only root may see.
  void start_with_names(int count) {
    start({"--storage", "file"});
    WindowInfo const window = make_persistent(server.grant(1u << 20), 100, 1);
    server.stop();
    {
      Catalog catalog(server.state / "catalog.sqlite");
      catalog.in_transaction([&] {
        for (int i = 0; i < count; ++i) catalog.publish({0, "name " + std::to_string(i)}, window.id);
      });
    }
    start({"--storage", "file"});
  }
  Json publish(std::string const& name, std::string const& port) const {
    return server.ask({{"op", "publish"}, {"name", name}, {"port", port}});
  }
  std::string lookup(std::string const& name) const {
    return server.ask({{"op", "lookup"}, {"name", name}}).at("port").get<std::string>();
  }
  /// Returns the text of the error; empty if there is none.
  std::string text_of_refusal(Json const& request) const {
    try {
      server.ask(request);
      return "";
    } catch (Error const& error) {
      return error.what();
    }
  }
  std::string tool(std::string const& arguments) const { return run_tool(server, arguments).output; }
  /// Returns how many requests of another client are answered before the answer to `request` comes.
  int served_during(Json request) const {
    request["version"] = protocol_version;
    Channel slow(connect_unix(server.address().unix_path), {.head_bytes = 64u << 20, .data_bytes = 0});
    Client other(server.address());
    slow.post(request);
    EXPECT_TRUE(slow.flush());
    for (int served = 0;; ++served) {
      pollfd entry{slow.descriptor(), POLLIN, 0};
      if (::poll(&entry, 1, 0) != 0) return served;
      (void)other.request({{"op", "usage"}});
    }
  }

  TestServer server;
};

TEST_F(Names, BelongToTheirPublisher) {
  if (!is_root()) GTEST_SKIP() << "needs other users";
  start();
  Locator const grant = server.grant(1u << 20, {{"owner", std::to_string(owner)}});
  std::string const first = make_persistent(grant, 100, 1, {.mode = 0644}).port;
  std::string const second = make_persistent(grant, 100, 2, {.mode = 0644}).port;
  EXPECT_TRUE(as_user(stranger, [&] {
    publish("field", second);
    publish("./a program/field", second);
    return lookup("field") == second && lookup("./a program/field") == second;
  }));
  EXPECT_TRUE(as_user(owner, [&] {
    publish("field", first);  // names of different users do not collide
    bool const own_first = lookup("field") == first;
    bool const taken = refusal([&] { publish("field", second); }) == ErrorCode::exists;
    return own_first && taken && lookup("~64002/field") == second &&
           lookup("~64002/./a program/field") == second;
  }));
  EXPECT_TRUE(as_user(stranger, [&] {
    Json const named{{"op", "lookup"}, {"name", "field"}, {"user", std::to_string(owner)}};
    return lookup("field") == second && server.ask(named).at("port") == first;
  }));
}

TEST_F(Names, AbsentAndForbiddenAreIndistinguishable) {
  if (!is_root()) GTEST_SKIP() << "needs other users";
  start();
  Locator const grant = server.grant(1u << 20, {{"owner", std::to_string(owner)}});
  std::string port;
  EXPECT_TRUE(as_user(owner, [&] {
    publish("field", make_persistent(grant, 100, 1).port);
    return true;
  }));
  EXPECT_TRUE(as_user(stranger, [&] {
    for (char const* const op : {"lookup", "unpublish"}) {
      for (char const* const user : {"64001", "64003", "no such user"}) {
        std::string const there = text_of_refusal({{"op", op}, {"name", "field"}, {"user", user}});
        std::string const foreign = text_of_refusal({{"op", op}, {"name", "~64001/field"}});
        if (there != "there is no name 'field'" || foreign != "there is no name '~64001/field'") return false;
      }
    }
    Json const all = server.ask({{"op", "names"}, {"all", true}});
    return all.at("names").empty() && !all.at("more").get<bool>();
  }));
}

TEST_F(Names, CountAgainstTheGrantWithoutExhaustingItsOwner) {
  if (!is_root()) GTEST_SKIP() << "needs other users";
  start({"--max-metadata", "32K"});
  Locator const grant = server.grant(1u << 20, {{"owner", std::to_string(owner)}});
  std::string const port = make_persistent(grant, 100, 1, {.mode = 0644}).port;
  auto const publish_until_refused = [&](std::string const& prefix) {
    for (int made = 0;; ++made) {
      auto const code = refusal([&] { publish(prefix + std::to_string(made), port); });
      if (code) return code == ErrorCode::quota ? made : -1;
    }
  };
  EXPECT_TRUE(as_user(stranger, [&] { return publish_until_refused("squatted") == 64; }));
  EXPECT_TRUE(as_user(owner, [&] {
    int const made = publish_until_refused("own");
    server.ask({{"op", "unpublish"}, {"name", "~64002/squatted3"}});  // by the owner of the grant
    publish("again", port);
    return made > 100 && made < 300;
  }));
}

TEST_F(Names, RejectControlCharactersAndBrokenUtf8) {
  start();
  std::string const port = make_persistent(server.grant(1u << 20), 100, 1).port;
  for (char const* const bad : {"", "\x1b]0;title\a", "two\nlines", "\x7f",
                                "\xc2\x9b"
                                "31m",
                                "\xe2\x80\xae", "~user/x", "~"})
    EXPECT_EQ(refusal([&] { publish(bad, port); }), ErrorCode::bad_request) << printable(bad);
  EXPECT_EQ(refusal([&] { publish(std::string(256, 'x'), port); }), ErrorCode::bad_request);
  for (std::string const& good :
       {std::string("/usr/bin/a program"), std::string("d\xc3\xbcse"), std::string(255, 'x')})
    EXPECT_EQ(refusal([&] { publish(good, port); }), std::nullopt) << good;
  for (std::string_view const broken : {"\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\x80", "\xe2\x82"})
    EXPECT_FALSE(is_plain_text(broken));
}

/// The catalog of an earlier server may have a name with control characters.
TEST_F(Names, AreEscapedByTheTool) {
  start({"--storage", "file"});
  std::string const port = make_persistent(server.grant(1u << 20), 100, 1).port;
  server.stop();
  Catalog(server.state / "catalog.sqlite")
      .publish({::getuid(), "\x1b]0;title\a"}, parse_locator(port).window);
  start({"--storage", "file"});
  for (char const* const arguments : {"names", "--json names", "lookup \"$(printf '\\033[31m')\""}) {
    std::string const output = tool(arguments);
    EXPECT_EQ(output.find('\x1b'), std::string::npos) << printable(output);
    EXPECT_FALSE(output.empty());
  }
  EXPECT_NE(tool("names").find("\\x1b]0;title\\x07"), std::string::npos);
}

TEST_F(Names, OfOtherUsersDoNotStopTheServer) {
  if (!is_root()) GTEST_SKIP() << "needs other users";
  constexpr int names = 4000;
  start_with_names(names);
  EXPECT_TRUE(as_user(stranger, [&] { return served_during({{"op", "names"}, {"all", true}}) >= 3; }));
  Json page = server.ask({{"op", "names"}});
  std::size_t found = 0;
  while (true) {
    found += page.at("names").size();
    if (!page.at("more").get<bool>()) break;
    page = server.ask({{"op", "names"}, {"after", page.at("names").back().at("name")}});
  }
  EXPECT_EQ(found, std::size_t{names});
  std::string const listed = tool("names");
  EXPECT_EQ(std::count(listed.begin(), listed.end(), '\n'), names + 1);
}

/// Each search looks at all names.
TEST_F(Names, SearchesOfOneUserDelayOthersByOneSearch) {
  if (!is_root()) GTEST_SKIP() << "needs other users";
  constexpr int many = 10;
  start_with_names(4000);
  Json const search{{"op", "names"}, {"all", true}, {"version", protocol_version}};
  UserProcess const greedy(stranger, stranger, [&](UserProcess::Wait const& wait) {
    std::vector<Channel> searches;
    for (int i = 0; i < many; ++i) {
      searches.emplace_back(connect_unix(server.address().unix_path), ChannelLimits{}).post(search);
      if (!searches.back().flush()) return false;
    }
    wait();
    auto const answered = std::count_if(searches.begin(), searches.end(), [](Channel const& each) {
      pollfd entry{each.descriptor(), POLLIN, 0};
      return ::poll(&entry, 1, 0) != 0;
    });
    EXPECT_LT(answered, many / 2);
    return answered < many / 2;
  });
  greedy.await();
  EXPECT_TRUE(as_user(owner, [&] { return server.ask(search).at("names").empty(); }));
  greedy.go_on();
}

/// Returns port names of parts so long that few windows fit into a quota.
std::vector<std::string> long_parts() {
  std::string part = "mpix-nam://" + std::string(32, 'a') + "/" + std::string(32, 'b') + "?unix=/";
  part.resize(port_name_limit - 1, 'x');
  return std::vector<std::string>(max_parts - 1, part);
}

TEST_F(Names, DescriptionsOfWindowsCountAgainstAQuota) {
  start({"--storage", "file", "--max-metadata", "100K"});
  Locator const grant = server.grant(1u << 20);
  Session session = Session::open(grant);
  WindowOptions options{.persistent = true, .other_parts = long_parts()};
  for (bool const persistent : {true, false}) {
    options.persistent = persistent;
    int made = 0;
    while (made < 100 && refusal([&] { session.allocate({1}, {1}, options); }) != ErrorCode::quota) ++made;
    EXPECT_EQ(made, persistent ? 6 : 0);
  }
}

/// The descriptions exceed one message between processes of the server. MPIX_NAM_LARGE_WINDOWS is the number
/// of windows with the largest descriptions, of 16 KiB.
TEST_F(Names, GrantWithLargeDescriptionsIsLoadedAgain) {
  char const* const given = std::getenv("MPIX_NAM_LARGE_WINDOWS");
  int const count = given != nullptr ? std::atoi(given) : 600;
  start({"--storage", "file", "--max-metadata", "4M"});
  Locator const grant = server.grant(20u << 20);
  std::string const port = make_persistent(grant, 100, 1).port;
  server.stop();
  {
    Catalog catalog(server.state / "catalog.sqlite");
    catalog.in_transaction([&] {
      Window window;
      window.persistent = true;
      window.bytes = 1;
      window.other_parts = long_parts();
      for (int i = 1; i <= count; ++i) {
        window.id = "window" + std::to_string(i);
        window.offset = 1'000'000 + static_cast<std::uint64_t>(i) * 4096;
        window.regions = {{window.offset, 1, 1}};
        catalog.add(grant.grant, window);
      }
    });
  }

  start({"--storage", "file", "--max-metadata", "4M"});
  expect_pattern(port, 100, 1);
  Json const shown = server.show(grant);
  EXPECT_EQ(shown.at("windows"), count + 1);
  EXPECT_LT(shown.at("window_list").size(), 100u);
  std::string const listed = tool("show " + grant.grant);
  EXPECT_GT(std::count(listed.begin(), listed.end(), '\n'), count);
  EXPECT_EQ(refusal([&] { Session::open(grant).allocate({1}, {1}, {.persistent = true}); }),
            ErrorCode::quota);
}

/// The owner of a grant lists names of windows whose descriptions are long.
TEST_F(Names, ListOfNamesOfLargeWindowsDoesNotBlockServer) {
  start();
  Locator const grant = server.grant(1u << 20);
  std::vector<std::uint64_t> const sizes(7500, 0);
  std::vector<std::uint64_t> const units(7500, 1000000000000000);
  Session session = Session::open(grant);
  std::vector<std::string> ports;
  for (int i = 0; i < 8; ++i) ports.push_back(session.allocate(sizes, units, {.persistent = true}).port);
  for (int i = 0; i < 200; ++i) (void)publish("name " + std::to_string(1000 + i), ports[i % 8]);
  EXPECT_EQ(server.ask({{"op", "names"}}).at("names").size(), 200u);
  EXPECT_GE(served_during({{"op", "names"}}), 20);
}

TEST_F(Names, AbsentAndHiddenAreRefusedAfterTheSameTime) {
  if (!is_root()) GTEST_SKIP() << "needs other users";
  start();
  Locator const grant = server.grant(1u << 20);
  (void)publish("field", make_persistent(grant, 100, 1, {.mode = 0600}).port);
  EXPECT_TRUE(as_user(stranger, [&] {
    Client client(server.address());
    (void)client.request({{"op", "names"}});
    for (std::string const name : {"field", "absent"}) {
      for (int i = 0; i < 5; ++i) {
        auto const begin = std::chrono::steady_clock::now();
        EXPECT_EQ(refusal([&] {
                    client.request({{"op", "lookup"}, {"name", name}, {"user", "root"}});
                  }),
                  ErrorCode::not_found);
        EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(10)) << name;
      }
    }
    return !testing::Test::HasFailure();
  }));
}

}  // namespace
}  // namespace mpixrma::nam
