/// A memory server and its clients: grants, windows, names. Each test has a server of its own.
#include <cstring>
#include <filesystem>

#include "nam/client/private_server.hpp"
#include "tests/nam/windows_of_server.hpp"

namespace mpixrma::nam {
namespace {

TEST(Server, GrantIsCreatedShownExtendedAndRevoked) {
  TestServer server;
  server.start();
  Locator const grant = server.grant(8u << 20, {{"seconds", 1000}});
  Json shown = server.show(grant);
  EXPECT_EQ(shown.at("bytes"), 8u << 20);
  EXPECT_GT(shown.at("expires_in"), 900);
  EXPECT_EQ(refusal([&] { server.grant(60u << 20); }), ErrorCode::no_space);
  server.ask({{"op", "extend"}, {"grant", grant.grant}});
  EXPECT_TRUE(server.show(grant).at("expires_in").is_null());
  EXPECT_EQ(server.ask({{"op", "list"}}).at("grants").size(), 1u);
  EXPECT_EQ(server.ask({{"op", "usage"}}).at("granted"), 8u << 20);
  pid_t const process = server.data_process(grant);
  server.ask({{"op", "revoke"}, {"grant", format(grant)}});
  EXPECT_EQ(refusal([&] { server.show(grant); }), ErrorCode::not_found);
  EXPECT_EQ(refusal([&] { Session::open(grant); }), ErrorCode::not_found);
  EXPECT_TRUE(eventually([&] { return ::kill(process, 0) != 0; }));
  (void)server.grant(60u << 20);
}

TEST(Server, NewWindowsAreEmpty) {
  TestServer server;
  server.start();
  Session session = Session::open(server.grant(1u << 20));
  for (int round = 0; round < 200; ++round) {
    WindowInfo const window = session.allocate({300000, 0, 100, 300000}, {1, 1, 4, 8});
    EXPECT_EQ(content(session, window, 3), std::vector<std::byte>(300000));
    session.write(window, 3, 0, pattern(300000, 9));
    EXPECT_EQ(content(session, window, 3), pattern(300000, 9));
    EXPECT_EQ(content(session, window, 0), std::vector<std::byte>(300000));
    session.release(window);
    EXPECT_EQ(refusal([&] { session.join(window.id); }), ErrorCode::not_found);
  }
  EXPECT_EQ(session.usage().at("largest_free"), 1u << 20);
}

TEST(Server, RefusesAllocationBeyondGrantAndReportsRest) {
  TestServer server;
  server.start();
  Session session = Session::open(server.grant(1u << 20));
  WindowInfo const first = session.allocate({512u << 10}, {1});
  try {
    session.allocate({600u << 10}, {1});
    FAIL();
  } catch (Error const& error) {
    EXPECT_EQ(error.code(), ErrorCode::no_space);
    EXPECT_NE(std::string(error.what()).find("512K"), std::string::npos) << error.what();
  }
  session.release(first);
  session.allocate({600u << 10}, {1});
}

TEST(Server, MemoryIsMappedOnTheServersHost) {
  TestServer server;
  server.start();
  Session session = Session::open(server.grant(1u << 20));
  WindowInfo const window = session.allocate({1000, 5000}, {1, 1});
  GrantMapping const memory = session.map();
  auto const values = pattern(5000, 3);
  std::memcpy(memory.at(window.regions[1]), values.data(), values.size());
  EXPECT_EQ(content(session, window, 1), values);
}

bool is_there(GrantMapping const& memory, WindowInfo const& window) {
  return memory.control().generation(window.slot).load() == window.generation;
}

TEST(Server, MappedWindowIndicatesItsEnd) {
  TestServer server;
  server.start();
  Locator const grant = server.grant(1u << 20);
  Session session = Session::open(grant);
  GrantMapping const memory = session.map();
  WindowInfo const first = session.allocate({1000}, {1});
  WindowInfo const second = session.allocate({1000}, {1}, {.persistent = true});
  EXPECT_NE(first.slot, second.slot);
  EXPECT_TRUE(is_there(memory, first));
  session.release(first);
  EXPECT_FALSE(is_there(memory, first));
  EXPECT_TRUE(is_there(memory, second));
  WindowInfo const third = session.allocate({1000}, {1});
  EXPECT_FALSE(is_there(memory, first));
  ::kill(server.data_process(grant), SIGKILL);
  EXPECT_TRUE(eventually([&] { return !is_there(memory, third); }));
  EXPECT_TRUE(is_there(memory, second));
  WindowInfo again;
  Session const other = Session::connect(second.port, &again);
  EXPECT_EQ(again.slot, second.slot);
  EXPECT_EQ(again.generation, second.generation);
  server.ask({{"op", "revoke"}, {"grant", grant.grant}});
  EXPECT_TRUE(eventually([&] { return !is_there(memory, second); }));
}

TEST(Server, MemoryKeptForTheNextWindowIsAvailableToAll) {
  TestServer server;
  server.start();
  Locator const grant = server.grant(1u << 20);
  Session session = Session::open(grant);
  Session other = Session::open(grant);
  GrantMapping const memory = session.map();
  WindowInfo const first = session.allocate({700u << 10}, {1});
  EXPECT_EQ(refusal([&] { other.allocate({600u << 10}, {1}); }), ErrorCode::no_space);
  std::uint64_t const cached = memory.control().cache_window(first.slot, first.generation);
  EXPECT_FALSE(is_there(memory, first));
  session.write(first, 0, 0, pattern(700u << 10, 5));  // a late write to memory that was cached
  WindowInfo const second = other.allocate({600u << 10}, {1});
  EXPECT_EQ(content(other, second, 0), std::vector<std::byte>(600u << 10));
  EXPECT_FALSE(memory.control().take_cached(first.slot, cached));
  EXPECT_EQ(refusal([&] { session.join(first.id); }), ErrorCode::not_found);
  other.release(second);
  // Offered memory that no session needs is returned, too, unless it is reused before.
  WindowInfo const third = session.allocate({1000}, {1});
  WindowInfo const fourth = session.allocate({1000}, {1});
  memory.control().cache_window(third.slot, third.generation);
  std::uint64_t const kept = memory.control().cache_window(fourth.slot, fourth.generation);
  EXPECT_TRUE(memory.control().take_cached(fourth.slot, kept));
  EXPECT_TRUE(eventually([&] { return other.usage().at("windows") == 1; }));
  EXPECT_EQ(other.join(fourth.id).generation, kept);
  ::kill(server.data_process(grant), SIGKILL);
  EXPECT_TRUE(eventually([&] { return memory.control().generation(fourth.slot).load() != kept; }));
}

TEST(Server, RegionsAreLockedBetweenSessions) {
  using engine::LockMode;
  TestServer server;
  server.start();
  Locator const grant = server.grant(1u << 20);
  Session session = Session::open(grant);
  Session other = Session::open(grant);
  WindowInfo const window = session.allocate({8, 8}, {1, 1});
  GrantMapping const here = session.map();
  std::optional<GrantMapping> there = other.map();
  auto const take = [&](GrantMapping const& by, std::uint32_t rank, LockMode mode, bool has_turn = false) {
    return by.control().try_lock(window.slot, rank, mode, &has_turn);
  };
  EXPECT_TRUE(take(*there, 1, LockMode::exclusive));
  EXPECT_FALSE(take(here, 1, LockMode::shared));
  EXPECT_TRUE(take(here, 0, LockMode::shared));
  EXPECT_TRUE(take(*there, 0, LockMode::shared));
  there->control().unlock(window.slot, 1);
  EXPECT_TRUE(take(here, 1, LockMode::shared));
  bool is_next = false;
  EXPECT_FALSE(there->control().try_lock(window.slot, 1, LockMode::exclusive, &is_next));
  EXPECT_TRUE(is_next);
  EXPECT_FALSE(take(here, 1, LockMode::shared));
  here.control().unlock(window.slot, 1);
  EXPECT_TRUE(take(*there, 1, LockMode::exclusive, is_next));
  there->control().unlock(window.slot, 1);
  EXPECT_TRUE(take(here, 1, LockMode::shared));
  EXPECT_FALSE(take(here, 0, LockMode::exclusive));
  here.control().unlock(window.slot, 0);
  there.reset();  // as when the client ends; the server may still have the descriptor that it has just sent
  EXPECT_TRUE(eventually([&] { return take(here, 0, LockMode::exclusive); }));
}

TEST(PrivateServer, EndsWithItsObjectAndWithItsProcess) {
  Locator grant;
  {
    PrivateServer const server(1u << 20);
    grant = server.grant();
    Session session = Session::open(grant);
    EXPECT_EQ(session.usage().at("free"), 1u << 20);
  }
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(grant.address.unix_path).parent_path()));
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  pid_t const child = ::fork();
  if (child == 0) {
    PrivateServer const server(1u << 20);
    std::string const told = format(server.grant());
    (void)!::write(ends[1], told.data(), told.size());
    ::pause();
  }
  char told[300] = "";
  ASSERT_GT(::read(ends[0], told, sizeof told - 1), 0);
  grant = parse_locator(told);
  EXPECT_NO_THROW(Session::open(grant));
  ::kill(child, SIGKILL);
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
  std::filesystem::path const directory = std::filesystem::path(grant.address.unix_path).parent_path();
  EXPECT_TRUE(eventually([&] { return !std::filesystem::exists(directory); }));
  EXPECT_THROW(Session::open(grant), Error);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(Server, MemoryReleasedSoonIsFreeForTheNextRequest) {
  TestServer server;
  server.start();
  Locator const grant = server.grant(1u << 20);
  Session session = Session::open(grant);
  for (int round = 0; round < 3; ++round) {
    std::vector<WindowInfo> windows;
    for (int i = 0; i < 200; ++i) windows.push_back(session.allocate({4096}, {1}));
    for (WindowInfo const& window : windows) session.release_soon(window);
    WindowInfo const whole = session.allocate({1u << 20}, {1});
    EXPECT_EQ(session.usage().at("free"), 0);
    EXPECT_TRUE(eventually([&] { return server.show(grant).at("used") == 1u << 20; }));
    session.release_soon(whole);
  }
  EXPECT_TRUE(eventually([&] { return server.show(grant).at("windows") == 0; }));
  EXPECT_EQ(session.usage().at("windows"), 0);
}

/// An invalid notice gets no reply either: the client would take the reply for that of its next request.
TEST(Server, NoticesHaveNoReply) {
  TestServer server;
  server.start();
  Session session = Session::open(server.grant(1u << 20));
  WindowInfo const window = session.allocate({8}, {1});
  WindowInfo gone = window;
  gone.id = "none";
  for (int round = 0; round < 300; ++round) {
    session.release_soon(gone);
    session.unlock_soon(window, 1, 7);
    EXPECT_EQ(session.usage().at("windows"), 1u) << round;
    for (int i = 0; i <= round % 70; ++i) session.release_soon(gone);
  }
  EXPECT_EQ(session.join(window.id).id, window.id);
}

TEST(Server, OutOfBoundsIsRefused) {
  TestServer server;
  server.start();
  Session session = Session::open(server.grant(1u << 20));
  WindowInfo const window = session.allocate({100}, {1});
  std::vector<std::byte> values(101);
  EXPECT_EQ(refusal([&] { session.read(window, 0, 0, values); }), ErrorCode::bad_request);
  EXPECT_EQ(refusal([&] { session.write(window, 0, UINT64_MAX, values); }), ErrorCode::bad_request);
  EXPECT_EQ(refusal([&] { session.read(window, 1, 0, std::span(values).first(1)); }), ErrorCode::bad_request);
  session.read(window, 0, 0, std::span(values).first(100));
}

TEST(Server, OnlyPersistentWindowsOutliveTheirSession) {
  TestServer server;
  server.start();
  Locator const grant = server.grant(1u << 20);
  WindowInfo const kept = make_persistent(grant, 10000, 1);
  EXPECT_LT(kept.port.size(), port_name_limit);
  {
    Session session = Session::open(grant);
    session.allocate({10000}, {1});
    session.release(kept);
  }
  EXPECT_TRUE(eventually([&] { return server.show(grant).at("windows") == 1; }));
  expect_pattern(kept.port, 10000, 1);
  server.ask({{"op", "evict"}, {"port", kept.port}});
  WindowInfo window;
  EXPECT_EQ(refusal([&] { Session::connect(kept.port, &window); }), ErrorCode::not_found);
  EXPECT_TRUE(eventually([&] { return server.show(grant).at("used") == 0; }));
}

TEST(Server, NamesArePublishedOnceAndUnpublished) {
  TestServer server;
  server.start();
  WindowInfo const window = make_persistent(server.grant(1u << 20), 100, 1);
  Json const publish{{"op", "publish"}, {"name", "app:field"}, {"port", window.port}};
  server.ask(publish);
  EXPECT_EQ(refusal([&] { server.ask(publish); }), ErrorCode::exists);
  EXPECT_EQ(server.ask({{"op", "lookup"}, {"name", "app:field"}}).at("port"), window.port);
  EXPECT_EQ(server.ask({{"op", "names"}}).at("names").size(), 1u);
  server.ask({{"op", "unpublish"}, {"name", "app:field"}});
  EXPECT_EQ(refusal([&] { server.ask({{"op", "lookup"}, {"name", "app:field"}}); }), ErrorCode::not_found);
  server.ask(publish);
  server.ask({{"op", "evict"}, {"port", window.port}});
  EXPECT_EQ(refusal([&] { server.ask({{"op", "lookup"}, {"name", "app:field"}}); }), ErrorCode::not_found);
}

}  // namespace
}  // namespace mpixrma::nam
