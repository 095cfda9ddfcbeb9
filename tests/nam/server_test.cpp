/// A memory server and its clients: life cycle, rights, limits, faults. Each test has a server of its own.
#include <sys/resource.h>
#include <sys/socket.h>

#include <cstring>
#include <fstream>
#include <numeric>
#include <random>

#include "nam/client/private_server.hpp"
#include "nam/protocol/socket.hpp"
#include "nam/protocol/units.hpp"
#include "tests/nam/server_fixture.hpp"
#include "tests/support/slowness.hpp"

namespace mpix::nam {
namespace {

constexpr uid_t nobody = 65534;
constexpr uid_t another = 4321;

std::vector<std::byte> pattern(std::size_t bytes, unsigned seed) {
  std::vector<std::byte> values(bytes);
  for (std::size_t i = 0; i < bytes; ++i) values[i] = static_cast<std::byte>(i * 7 + seed);
  return values;
}

std::vector<std::byte> content(Session& session, WindowInfo const& window, std::uint64_t rank) {
  std::vector<std::byte> values(window.regions[rank].bytes);
  session.read(window, rank, 0, values);
  return values;
}

WindowInfo make_persistent(Locator const& grant, std::size_t bytes, unsigned seed, WindowWishes wishes = {}) {
  Session session = Session::open(grant);
  wishes.persistent = true;
  WindowInfo const window = session.allocate({bytes, bytes}, {1, 8}, wishes);
  session.write(window, 0, 0, pattern(bytes, seed));
  session.write(window, 1, 0, pattern(bytes, seed + 1));
  session.persist(window);
  return window;
}

void expect_pattern(std::string const& port, std::size_t bytes, unsigned seed) {
  WindowInfo window;
  Session session = Session::connect(port, &window);
  ASSERT_EQ(window.regions.size(), 2u);
  EXPECT_EQ(window.regions[1].unit, 8u);
  EXPECT_EQ(content(session, window, 0), pattern(bytes, seed));
  EXPECT_EQ(content(session, window, 1), pattern(bytes, seed + 1));
}

bool is_root() { return ::geteuid() == 0; }

TEST(Server, a_grant_is_made_shown_extended_and_revoked) {
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

TEST(Server, windows_come_and_go_and_are_empty_when_they_come) {
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

TEST(Server, more_than_the_grant_has_is_refused_with_what_is_left) {
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

TEST(Server, memory_is_mapped_where_the_server_is) {
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

TEST(Server, whoever_maps_a_window_sees_it_end) {
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

TEST(Server, regions_are_locked_between_sessions) {
  using engine::LockMode;
  TestServer server;
  server.start();
  Locator const grant = server.grant(1u << 20);
  Session session = Session::open(grant);
  Session other = Session::open(grant);
  WindowInfo const window = session.allocate({8, 8}, {1, 1});
  GrantMapping const here = session.map();
  std::optional<GrantMapping> there = other.map();
  EXPECT_TRUE(there->control().try_lock(window.slot, 1, LockMode::exclusive));
  EXPECT_FALSE(here.control().try_lock(window.slot, 1, LockMode::shared));
  EXPECT_TRUE(here.control().try_lock(window.slot, 0, LockMode::shared));
  EXPECT_TRUE(there->control().try_lock(window.slot, 0, LockMode::shared));
  EXPECT_TRUE(here.control().try_turn(window.slot, 1, LockMode::exclusive));
  EXPECT_FALSE(there->control().try_turn(window.slot, 1, LockMode::shared));
  here.control().give_back_turn(window.slot, 1);
  EXPECT_TRUE(there->control().try_turn(window.slot, 1, LockMode::shared));
  there->control().unlock(window.slot, 1);
  EXPECT_TRUE(here.control().try_lock(window.slot, 1, LockMode::shared));
  EXPECT_FALSE(here.control().try_lock(window.slot, 0, LockMode::exclusive));
  there.reset();  // as when its process ends; the server may still have the descriptor that it has just sent
  EXPECT_TRUE(eventually([&] { return here.control().try_lock(window.slot, 0, LockMode::exclusive); }));
}

TEST(PrivateServer, ends_with_its_object_and_with_its_process) {
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

TEST(Server, out_of_bounds_is_refused) {
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

TEST(Server, a_persistent_window_outlives_its_session_and_others_do_not) {
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

TEST(Server, names_are_published_once_and_taken_back) {
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

/// Those who know every identifier.
TEST(Server, other_users_have_what_the_owner_lets_them) {
  if (!is_root()) GTEST_SKIP() << "needs other users";
  TestServer server;
  server.start();
  std::filesystem::permissions(server.directory(), std::filesystem::perms(0755));
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
                refused(ErrorCode::not_found, {{"op", "lookup"}, {"name", "private"}}) &&
                refused(ErrorCode::not_found, {{"op", "unpublish"}, {"name", "private"}}) &&
                refused(ErrorCode::denied, {{"op", "unpublish"}, {"name", "public"}}) &&
                refused(ErrorCode::denied, {{"op", "evict"}, {"port", shared_port}}) &&
                refused(ErrorCode::denied, {{"op", "grant"}, {"bytes", 4096}}) &&
                server.ask({{"op", "names"}}).at("names").size() == 1 &&
                server.ask({{"op", "list"}}).at("grants").empty();
    Session session = Session::connect(
        server.ask({{"op", "lookup"}, {"name", "public"}}).at("port").get<std::string>(), &window);
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

TEST(Server, users_grant_themselves_what_they_may) {
  if (!is_root()) GTEST_SKIP() << "needs other users";
  TestServer server;
  server.start({"--size", "64M", "--listen", "none", "--self-service", "8M"});
  std::filesystem::permissions(server.directory(), std::filesystem::perms(0755));
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

TEST(Server, limits_of_windows_regions_and_sessions_hold) {
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

TEST(Server, over_tcp_the_secret_of_the_user_admits) {
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

TEST(Server, a_grant_ends_when_its_time_is_over) {
  TestServer server;
  server.start();
  Locator const grant = server.grant(1u << 20, {{"seconds", 1}});
  WindowInfo const window = make_persistent(grant, 100, 1);
  Session session = Session::open(grant);
  EXPECT_TRUE(eventually([&] { return refusal([&] { session.usage(); }) == ErrorCode::unavailable; }));
  EXPECT_EQ(refusal([&] { server.show(grant); }), ErrorCode::not_found);
}

// ---- Processes that die ----

class StorageTest : public ::testing::TestWithParam<char const*> {
 protected:
  TestServer::Arguments arguments() const {
    return {"--size", "64M", "--listen", "none", "--storage", GetParam()};
  }
  bool is_file() const { return std::string(GetParam()) == "file"; }
};

INSTANTIATE_TEST_SUITE_P(Kinds, StorageTest, ::testing::Values("memory", "file"));

TEST_P(StorageTest, a_killed_data_process_loses_nothing_that_is_persistent) {
  TestServer server;
  server.start(arguments());
  Locator const grant = server.grant(1u << 20);
  std::string const port = make_persistent(grant, 10000, 1).port;
  Session session = Session::open(grant);
  session.allocate({10000}, {1});
  ::kill(server.data_process(grant), SIGKILL);
  EXPECT_EQ(refusal([&] { session.usage(); }), ErrorCode::unavailable);
  expect_pattern(port, 10000, 1);
  EXPECT_EQ(server.show(grant).at("windows"), 1);
  (void)make_persistent(grant, 10000, 2);
}

TEST_P(StorageTest, what_a_killed_data_process_has_left_is_not_shown) {
  TestServer server;
  server.start(arguments());
  Locator const grant = server.grant(1u << 20);
  Session before = Session::open(grant);
  before.write(before.allocate({1u << 20}, {1}), 0, 0, pattern(1u << 20, 1));
  ::kill(server.data_process(grant), SIGKILL);
  EXPECT_EQ(refusal([&] { before.usage(); }), ErrorCode::unavailable);
  Session after = Session::open(grant);
  EXPECT_EQ(content(after, after.allocate({1u << 20}, {1}), 0), std::vector<std::byte>(1u << 20));
}

TEST_P(StorageTest, a_killed_control_process_is_replaced_while_sessions_go_on) {
  TestServer server;
  server.start(arguments());
  Locator const grant = server.grant(1u << 20);
  WindowInfo const kept = make_persistent(grant, 10000, 1);
  Session session = Session::open(grant);
  WindowInfo const window = session.allocate({10000}, {1});
  server.kill();
  session.write(window, 0, 0, pattern(10000, 7));
  EXPECT_EQ(refusal([&] { session.allocate({1}, {1}, {.persistent = true}); }), ErrorCode::unavailable);
  server.start(arguments());
  EXPECT_EQ(content(session, window, 0), pattern(10000, 7));
  expect_pattern(kept.port, 10000, 1);
  session.allocate({1}, {1}, {.persistent = true});
  EXPECT_TRUE(eventually([&] { return server.show(grant).at("windows") == 3; }));
}

TEST_P(StorageTest, with_both_killed_what_is_in_files_stays) {
  TestServer server;
  server.start(arguments());
  Locator const grant = server.grant(1u << 20);
  std::string const port =
      make_persistent(grant, 10000, 1, {.durability = is_file() ? "storage" : "clients"}).port;
  pid_t const process = server.data_process(grant);
  server.kill();
  ::kill(process, SIGKILL);
  EXPECT_TRUE(eventually([&] { return ::kill(process, 0) != 0; }));
  server.start(arguments());
  WindowInfo window;
  if (is_file()) {
    expect_pattern(port, 10000, 1);
  } else {
    EXPECT_EQ(refusal([&] { Session::connect(port, &window); }), ErrorCode::not_found);
  }
  (void)make_persistent(grant, 10000, 2);
}

TEST_P(StorageTest, an_ordered_end_keeps_what_is_in_files) {
  TestServer server;
  server.start(arguments());
  Locator const grant = server.grant(1u << 20);
  std::string const port = make_persistent(grant, 10000, 1).port;
  pid_t const process = server.data_process(grant);
  server.stop();
  EXPECT_TRUE(eventually([&] { return ::kill(process, 0) != 0; }));
  server.start(arguments());
  if (is_file()) expect_pattern(port, 10000, 1);
  EXPECT_EQ(server.show(grant).at("persistent"), is_file() ? 1 : 0);
}

TEST(Server, durability_beyond_the_storage_is_refused) {
  TestServer server;
  server.start();
  Session session = Session::open(server.grant(1u << 20));
  for (char const* const durability : {"server", "storage"})
    EXPECT_EQ(refusal([&] { session.allocate({1}, {1}, {true, durability}); }), ErrorCode::unsupported);
  EXPECT_EQ(refusal([&] { session.allocate({1}, {1}, {true, "forever"}); }), ErrorCode::bad_request);
}

// ---- What the machine does not have ----

TEST(Server, a_full_disk_is_told_before_memory_is_granted) {
  TestServer server;
  server.spawn({"--size", "1G", "--listen", "none", "--storage", "file"}, [] {
    rlimit const limit{16u << 20, 16u << 20};
    (void)::setrlimit(RLIMIT_FSIZE, &limit);
    ::signal(SIGXFSZ, SIG_IGN);
  });
  ASSERT_TRUE(eventually([&] { return server.answers(); }));
  EXPECT_EQ(refusal([&] { server.grant(100u << 20); }), ErrorCode::no_space);
  EXPECT_TRUE(server.ask({{"op", "list"}}).at("grants").empty());
  expect_pattern(make_persistent(server.grant(1u << 20), 10000, 1).port, 10000, 1);
}

TEST(Server, a_file_that_was_cut_is_refused_and_the_others_go_on) {
  TestServer server;
  TestServer::Arguments const arguments{"--size", "64M", "--listen", "none", "--storage", "file"};
  server.start(arguments);
  Locator const cut = server.grant(1u << 20);
  Locator const whole = server.grant(1u << 20);
  (void)make_persistent(cut, 100, 1);
  std::string const port = make_persistent(whole, 100, 5).port;
  server.stop();
  std::filesystem::resize_file(server.directory() / "state/memory" / (cut.grant + ".memory"), 4096);
  server.start(arguments);
  expect_pattern(port, 100, 5);
  EXPECT_EQ(refusal([&] { Session::open(cut); }), ErrorCode::unavailable);
  EXPECT_FALSE(server.show(cut).at("ready").get<bool>());
}

TEST(Server, a_damaged_catalog_is_refused_with_its_exit_code) {
  TestServer server;
  server.start();
  (void)make_persistent(server.grant(1u << 20), 100, 1);
  server.stop();
  std::ofstream(server.directory() / "state/catalog.sqlite", std::ios::in | std::ios::out)
      .write("nonsense nonsense", 17);
  server.spawn({"--size", "64M", "--listen", "none"});
  EXPECT_EQ(server.exit_code(10000), 4);
}

TEST(Server, ends_at_once_when_it_cannot_start) {
  TestServer server;
  server.spawn({});
  EXPECT_EQ(server.exit_code(10000), 2);
  server.spawn({"--size", "many"});
  EXPECT_EQ(server.exit_code(10000), 2);
  server.start();
  TestServer other;
  other.state = server.state;
  other.spawn({"--size", "1M", "--listen", "none"});
  EXPECT_EQ(other.exit_code(10000), 3);
}

TEST(Server, reads_its_configuration_again) {
  TestServer server;
  auto const file = server.directory() / "namd.toml";
  std::ofstream(file) << "size = \"8M\"\nmax-windows = 7\n";
  server.start({"--config", file.string(), "--listen", "none"});
  EXPECT_EQ(server.ask({{"op", "usage"}}).at("capacity"), 8u << 20);
  std::ofstream(file) << "size = \"nonsense\"\n";
  ::kill(server.pid(), SIGHUP);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(server.ask({{"op", "usage"}}).at("capacity"), 8u << 20);
  std::ofstream(file) << "size = \"16M\"\n";
  ::kill(server.pid(), SIGHUP);
  EXPECT_TRUE(eventually([&] { return server.ask({{"op", "usage"}}).at("capacity") == 16u << 20; }));
}

TEST(Server, takes_sockets_of_a_service_manager) {
  TestServer server;
  server.spawn({"--size", "8M"}, [&] {
    FileDescriptor listener = listen_unix(server.address().unix_path, 0600);
    if (listener.get() == 3) {
      (void)::fcntl(3, F_SETFD, 0);
    } else {
      ::dup2(listener.get(), 3);
    }
    ::setenv("LISTEN_PID", std::to_string(::getpid()).c_str(), 1);
    ::setenv("LISTEN_FDS", "1", 1);
    (void)::fcntl(3, F_SETFL, 0);
    new FileDescriptor(std::move(listener));  // stays open until the program takes this one's place
  });
  EXPECT_TRUE(eventually([&] { return server.answers(); }));
}

// ---- Clients that misbehave ----

TEST(Server, many_clients_at_once_are_all_served) {
  TestServer server;
  server.start();
  Locator const grant = server.grant(32u << 20);
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 10; ++round) {
        Session session = Session::open(grant);
        WindowInfo const window = session.allocate({10000}, {1});
        session.write(window, 0, 0, pattern(10000, static_cast<unsigned>(i)));
        if (content(session, window, 0) == pattern(10000, static_cast<unsigned>(i))) ++good;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 160);
  EXPECT_TRUE(eventually([&] { return server.show(grant).at("used") == 0; }));
}

TEST(Server, a_thousand_connections_that_say_nothing_keep_nobody_out) {
  TestServer server;
  server.start({"--size", "64M", "--listen", "none", "--max-connections", "500"});
  {
    std::vector<FileDescriptor> silent;
    for (int i = 0; i < 1000; ++i) silent.push_back(connect_unix(server.address().unix_path));
    EXPECT_EQ(refusal([&] { server.ask({{"op", "list"}}); }), ErrorCode::quota);
  }
  EXPECT_TRUE(eventually([&] { return !refusal([&] { server.ask({{"op", "list"}}); }); }));
}

int parameter(char const* name, int otherwise) {
  char const* const given = std::getenv(name);
  return given != nullptr ? std::atoi(given) : otherwise;
}

std::uint64_t seed_of_test() {
  auto const seed =
      static_cast<std::uint64_t>(parameter("MPIX_TEST_SEED", static_cast<int>(std::random_device()() >> 1)));
  std::printf("MPIX_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

/// Requests that are nearly right: fields of wrong kinds and sizes, at random.
Json strange_request(std::mt19937_64& random) {
  static std::vector<std::string> const operations{
      "hello", "prove",   "grant",   "revoke", "extend",  "list",   "show",      "usage",
      "open",  "connect", "evict",   "names",  "publish", "lookup", "unpublish", "allocate",
      "join",  "release", "persist", "read",   "write",   "map",    "?"};
  static std::vector<std::string> const fields{"grant",      "bytes", "seconds", "owner", "port",   "name",
                                               "window",     "sizes", "units",   "rank",  "offset", "mode",
                                               "durability", "user",  "nonce",   "proof"};
  static std::vector<Json> const values{-1,
                                        0,
                                        1,
                                        1.5,
                                        4096,
                                        UINT64_MAX,
                                        "",
                                        "x",
                                        std::string(300, 'y'),
                                        nullptr,
                                        true,
                                        Json::array({1, 2}),
                                        Json::array({-1}),
                                        Json::array({UINT64_MAX, "z"}),
                                        Json::object(),
                                        "mpix-nam://a?unix=/x",
                                        "mpix-nam://a/b?tcp=c:1",
                                        "\xff\xfe"};
  Json request{{"op", operations[random() % operations.size()]}};
  for (unsigned i = 0; i < random() % 5; ++i)
    request[fields[random() % fields.size()]] = values[random() % values.size()];
  if (request["op"] == "grant") request["bytes"] = random() % 2 == 0 ? Json(UINT64_MAX) : Json(-1);
  if (random() % 50 == 0) request["op"] = values[random() % values.size()];
  return request;
}

/// A tenth of the messages are no messages at all.
void send_strange(Channel& channel, std::mt19937_64& random) {
  if (random() % 10 != 0)
    return channel.post(strange_request(random),
                        std::vector<std::byte>(random() % 3 == 0 ? random() % 200 : 0));
  std::vector<std::byte> bytes(1 + random() % 64);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  (void)::send(channel.descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

/// To the control process, to a data process in a session, and over TCP without a session.
TEST(Server, hostile_bytes_end_nothing_but_their_connections) {
  TestServer server;
  server.start({"--size", "64M", "--listen", "127.0.0.1:0", "--log-level", "error"});
  Locator const grant = server.grant(4u << 20);
  std::string const port = make_persistent(grant, 10000, 1).port;
  pid_t const process = server.data_process(grant);
  std::mt19937_64 random(seed_of_test());
  int const messages = parameter("MPIX_NAM_HOSTILE_MESSAGES", 30000) / test::slowness;
  for (int sent = 0; sent < messages;) {
    Channel channel(sent % 3 == 2 ? connect_tcp("127.0.0.1", grant.address.port, 5000)
                                  : connect_unix(grant.address.unix_path),
                    {});
    if (sent % 3 == 1) channel.post({{"op", "open"}, {"grant", grant.grant}});
    for (int i = 0; i < 100; ++i, ++sent) {
      send_strange(channel, random);
      if (!channel.flush()) break;
      if (!channel.fill()) break;
      try {
        while (channel.next()) {
        }
      } catch (Error const&) {
        break;
      }
    }
    ++sent;
  }
  EXPECT_EQ(server.data_process(grant), process);
  EXPECT_EQ(::kill(server.pid(), 0), 0);
  expect_pattern(port, 10000, 1);
}

}  // namespace
}  // namespace mpix::nam
