/// A memory server: rights and limits of users.
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "nam/client/secrets.hpp"
#include "tests/nam/windows_of_server.hpp"

namespace mpixrma::nam {
namespace {

/// The other users know every identifier.
TEST(Server, OtherUsersHaveRightsGrantedByOwner) {
  if (!is_root()) GTEST_SKIP() << "needs other users";
  TestServer server;
  server.start();
  server.admit_all_users();
  Locator const grant = server.grant(1u << 20, {{"owner", std::to_string(another)}});
  std::string const secret_port = make_persistent(grant, 100, 1).port;
  std::string const shared_port = make_persistent(grant, 100, 5, {.mode = 0644}).port;
  server.ask({{"op", "publish"}, {"name", "private"}, {"port", secret_port}});
  server.ask({{"op", "publish"}, {"name", "public"}, {"port", shared_port}});
  EXPECT_TRUE(as_user(nobody, [&] {
    auto const refused = [&](ErrorCode code, Json const& request) {
      return refusal([&] { server.ask(request); }) == code;
    };
    WindowInfo window;
    bool good = refused(ErrorCode::not_found, {{"op", "open"}, {"grant", grant.grant}}) &&
                refused(ErrorCode::not_found, {{"op", "revoke"}, {"grant", grant.grant}}) &&
                refused(ErrorCode::not_found, {{"op", "show"}, {"grant", grant.grant}}) &&
                refused(ErrorCode::not_found, {{"op", "connect"}, {"port", secret_port}}) &&
                refused(ErrorCode::not_found, {{"op", "evict"}, {"port", secret_port}}) &&
                refused(ErrorCode::not_found, {{"op", "lookup"}, {"name", "~root/private"}}) &&
                refused(ErrorCode::not_found, {{"op", "unpublish"}, {"name", "~root/private"}}) &&
                refused(ErrorCode::denied, {{"op", "unpublish"}, {"name", "~root/public"}}) &&
                refused(ErrorCode::denied, {{"op", "evict"}, {"port", shared_port}}) &&
                refused(ErrorCode::denied, {{"op", "grant"}, {"bytes", 4096}}) &&
                server.ask({{"op", "names"}, {"all", true}}).at("names").size() == 1 &&
                server.ask({{"op", "list"}}).at("grants").empty();
    Session session = Session::connect(
        server.ask({{"op", "lookup"}, {"name", "~root/public"}}).at("port").get<std::string>(), &window);
    std::vector<std::byte> one(1);
    WindowInfo hidden = window;
    hidden.id = parse_locator(secret_port).window;
    good = good && window.may_read && !window.may_write && content(session, window, 0) == pattern(100, 5) &&
           refusal([&] { session.write(window, 0, 0, one); }) == ErrorCode::denied &&
           refusal([&] { session.persist(window); }) == ErrorCode::denied &&
           refusal([&] { session.read(hidden, 0, 0, one); }) == ErrorCode::not_found &&
           refusal([&] { session.join(hidden.id); }) == ErrorCode::not_found &&
           refusal([&] { session.map(); }) == ErrorCode::denied &&
           refusal([&] { session.allocate({1}, {1}); }) == ErrorCode::denied;
    return good;
  }));
  EXPECT_TRUE(as_user(another, [&] {
    Session session = Session::open(grant);
    WindowInfo const window = session.allocate({100}, {1});
    session.write(window, 0, 0, pattern(100, 2));
    return content(session, window, 0) == pattern(100, 2) &&
           refusal([&] {
             server.ask({{"op", "extend"}, {"grant", grant.grant}});
           }) == ErrorCode::denied;
  }));
}

/// The kernel takes the largest number for "no user".
TEST(Server, GrantToNoUserIsRefused) {
  TestServer server;
  server.start();
  for (char const* const nobody_at_all : {"4294967295", "4294967296", "-1", ""})
    EXPECT_EQ(refusal([&] {
                server.grant(4096, {{"owner", nobody_at_all}});
              }),
              ErrorCode::bad_request)
        << nobody_at_all;
  EXPECT_TRUE(server.ask({{"op", "list"}}).at("grants").empty());
}

TEST(Server, SelfServiceGrantsAreLimited) {
  if (!is_root()) GTEST_SKIP() << "needs other users";
  TestServer server;
  server.start({"--size", "64M", "--listen", "none", "--self-service", "8M"});
  server.admit_all_users();
  EXPECT_TRUE(as_user(nobody, [&] {
    Locator const grant = server.grant(6u << 20);
    bool const limited = refusal([&] { server.grant(3u << 20); }) == ErrorCode::quota &&
                         refusal([&] {
                           server.grant(4096, {{"owner", "root"}});
                         }) == ErrorCode::denied;
    server.ask({{"op", "revoke"}, {"grant", grant.grant}});
    (void)server.grant(8u << 20);
    return limited;
  }));
}

TEST(Server, EnforcesLimitsOfWindowsRegionsAndSessions) {
  TestServer server;
  server.start({"--size", "64M", "--listen", "none", "--max-windows", "3", "--max-regions", "10",
                "--max-sessions", "2"});
  Locator const grant = server.grant(1u << 20);
  Session first = Session::open(grant);
  std::vector<std::uint64_t> const ones(8, 1);
  first.allocate(ones, ones);
  EXPECT_EQ(refusal([&] { first.allocate({1, 1, 1}, {1, 1, 1}); }), ErrorCode::quota);
  first.allocate({1}, {1});
  WindowInfo const third = first.allocate({1}, {1});
  EXPECT_EQ(refusal([&] { first.allocate({1}, {1}); }), ErrorCode::quota);
  first.release(third);
  {
    Session second = Session::open(grant);
    EXPECT_EQ(refusal([&] { Session::open(grant); }), ErrorCode::quota);
  }
  EXPECT_TRUE(eventually([&] { return !refusal([&] { Session::open(grant); }); }));
}

TEST(Server, SecretOfUserAdmitsOverTcp) {
  TestServer server;
  server.start({"--size", "64M", "--listen", "127.0.0.1:0"});
  Locator grant = server.grant(1u << 20);
  ASSERT_NE(grant.address.port, 0);
  grant.address.unix_path.clear();
  auto const file = server.directory() / "client" / "secret";
  ::setenv("MPIX_NAM_SECRET_FILE", file.c_str(), 1);
  EXPECT_EQ(refusal([&] { Session::open(grant); }), ErrorCode::denied);  // no secret
  write_secret(file, random_secret());
  EXPECT_EQ(refusal([&] { Session::open(grant); }), ErrorCode::denied);  // the wrong one
  write_secret(file, secret_from_hex(server.ask({{"op", "secret"}}).at("secret").get<std::string>()));
  Session session = Session::open(grant);
  WindowInfo const window = session.allocate({3u << 18}, {1}, {.persistent = true});
  session.write(window, 0, 0, pattern(3u << 18, 4));
  EXPECT_EQ(content(session, window, 0), pattern(3u << 18, 4));
  EXPECT_EQ(refusal([&] { session.map(); }), ErrorCode::unsupported);
  EXPECT_EQ(refusal([&] { Client(grant.address).request({{"op", "secret"}}); }), ErrorCode::denied);
  ::setenv("MPIX_NAM_USER", "daemon", 1);
  EXPECT_EQ(refusal([&] { Client{grant.address}; }), ErrorCode::denied);
  ::unsetenv("MPIX_NAM_USER");
  ::unsetenv("MPIX_NAM_SECRET_FILE");
}

TEST(Server, SecretOfUserIsSpecificToServer) {
  std::array<TestServer, 2> servers;
  std::vector<Locator> grants;
  std::string const file = (servers[0].directory() / "client" / "secret").string();
  ::setenv("MPIX_NAM_SECRET_FILE", file.c_str(), 1);
  for (TestServer& server : servers) {
    server.start({"--size", "64M", "--listen", "127.0.0.1:0"});
    grants.push_back(server.grant(1u << 20));
    grants.back().address.unix_path.clear();
    std::string const tool = MPIX_NAM_TOOL " secret > /dev/null --server " + server.address().unix_path;
    ASSERT_EQ(std::system(tool.c_str()), 0);
  }
  for (Locator const& grant : grants) make_persistent(grant, 100, 1);
  std::filesystem::remove(secret_file(grants[0].address));
  EXPECT_EQ(refusal([&] { Session::open(grants[0]); }), ErrorCode::denied);
  std::filesystem::remove(secret_file(grants[1].address));
  EXPECT_EQ(refusal([&] { Session::open(grants[1]); }), std::nullopt);  // by the secret that was stored last
  ::unsetenv("MPIX_NAM_SECRET_FILE");
}

TEST(Server, GrantEndsAtItsExpiry) {
  TestServer server;
  server.start({"--size", "64M", "--listen", "none", "--expiry-grace", "0"});
  Locator const grant = server.grant(1u << 20, {{"seconds", 3600}});
  WindowInfo const window = make_persistent(grant, 100, 1);
  Session session = Session::open(grant);
  // The grant gets its short lifetime last, because it may end before the next request.
  server.ask({{"op", "extend"}, {"grant", grant.grant}, {"seconds", 1}});
  EXPECT_TRUE(eventually([&] { return refusal([&] { session.usage(); }) == ErrorCode::unavailable; }));
  EXPECT_EQ(refusal([&] { server.show(grant); }), ErrorCode::not_found);
}

}  // namespace
}  // namespace mpixrma::nam
