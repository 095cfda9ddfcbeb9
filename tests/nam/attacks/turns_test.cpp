/// Many requests that arrive together, and long ones: the server executes requests of other clients in
/// between. The tests count these. A server that executes none in between would serve two at most.
#include <poll.h>
#include <sys/socket.h>

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "nam/protocol/channel.hpp"
#include "nam/protocol/socket.hpp"
#include "nam/protocol/version.hpp"
#include "tests/nam/attacks/users.hpp"
#include "tests/nam/windows_of_server.hpp"
#include "tests/support/slowness.hpp"

namespace mpixrma::nam {
namespace {

/// Returns `count` copies of `request` in the wire format: they arrive together.
std::string frames(Json const& request, int count) {
  std::string const text = request.dump();
  struct {
    std::uint32_t magic = 0x316d616e;
    std::uint32_t head_bytes = 0;
    std::uint32_t data_bytes = 0;
    std::uint32_t descriptors = 0;
  } header;
  header.head_bytes = static_cast<std::uint32_t>(text.size());
  std::string const one = std::string(reinterpret_cast<char const*>(&header), sizeof header) + text;
  std::string all;
  for (int i = 0; i < count; ++i) all += one;
  return all;
}

/// A connection whose requests are sent as raw bytes.
class RawClient {
 public:
  explicit RawClient(Address const& server) : channel_(connect_unix(server.unix_path), {}) {}

  void send(std::string const& bytes) const {
    EXPECT_EQ(::send(channel_.descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  Json receive() {
    for (;;) {
      if (auto message = channel_.next()) return std::move(message->head);
      pollfd entry{channel_.descriptor(), POLLIN, 0};
      if (::poll(&entry, 1, 60000) != 1 || !channel_.fill())
        throw Error(ErrorCode::unavailable, "the server does not answer");
    }
  }
  Json ask(Json request) {
    request["version"] = protocol_version;
    send(frames(request, 1));
    return receive();
  }
  bool has_answer() const {
    pollfd entry{channel_.descriptor(), POLLIN, 0};
    return ::poll(&entry, 1, 0) != 0;
  }

 private:
  Channel channel_;
};

/// Returns how often `serve` returns while the server executes `count` copies of `request`, which arrive
/// together.
int served_during(RawClient& many, Json request, int count, std::function<void()> const& serve) {
  request["quiet"] = true;
  many.send(frames(request, count) + frames({{"op", "usage"}}, 1));
  for (int served = 0;; ++served) {
    if (many.has_answer()) return served;
    serve();
  }
}

class Turns : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!is_root()) GTEST_SKIP() << "needs other users";
  }
  void start() {
    server.start();
    server.admit_all_users();
    grant = server.grant(1u << 20, {{"owner", std::to_string(owner)}});
  }
  /// Starts a server with storage files, whose syncs do not end while the file held_sync() exists.
  void start_with_file() {
    server.spawn({"--size", "64M", "--listen", "none", "--storage", "file"}, [this] {
      ::setenv("LD_PRELOAD", MPIX_HELD_SYNC, 1);
      ::setenv("MPIX_TEST_HELD_SYNC", held_sync().c_str(), 1);
    });
    server.await();
    server.admit_all_users();
    grant = server.grant(large + (1u << 20), {{"owner", std::to_string(owner)}});
  }
  std::string held_sync() const { return (server.directory() / "held").string(); }
  /// Kills all processes of the server at once, and starts the server again.
  void kill_and_restart() {
    pid_t const process = server.data_process(grant);
    server.kill();
    ::kill(process, SIGKILL);
    EXPECT_TRUE(eventually([&] { return ::kill(process, 0) != 0; }));
    server.start({"--size", "64M", "--listen", "none", "--storage", "file"});
  }
  static constexpr std::size_t large = 48u << 20;
  /// Makes a window with a long description.
  std::string window_of_many_regions(unsigned mode) const {
    std::vector<std::uint64_t> const sizes(20000, 0);
    std::vector<std::uint64_t> const units(20000, 1);
    return Session::open(grant).allocate(sizes, units, {.persistent = true, .mode = mode}).port;
  }

  TestServer server;
  Locator grant;
};

TEST_F(Turns, RequestsOfGuestDoNotBlockDataProcess) {
  start();
  std::string const port = window_of_many_regions(0644);
  EXPECT_TRUE(as_user(attacker, [&] {
    WindowInfo window;
    Session other = Session::connect(port, &window);
    RawClient guest(server.address());
    (void)guest.ask({{"op", "connect"}, {"port", port}});
    int const served =
        served_during(guest, {{"op", "join"}, {"window", window.id}}, 100, [&] { (void)other.usage(); });
    EXPECT_GE(served, 10);
    return served >= 10;
  }));
}

/// The catalog takes one entry in each turn, however many sessions ask for one at the same time.
TEST_F(Turns, NewWindowsOfManySessionsDoNotBlockControlProcess) {
  constexpr std::size_t sessions = 200;
  start();
  pid_t const control = server.control_process();
  Session own = Session::open(grant);
  Client other(server.address());
  std::vector<std::unique_ptr<RawClient>> many;
  for (std::size_t i = 0; i < sessions; ++i) {
    many.push_back(std::make_unique<RawClient>(server.address()));
    (void)many.back()->ask({{"op", "open"}, {"grant", grant.grant}});
  }
  stop_process(control);
  for (auto const& each : many)
    each->send(frames({{"op", "allocate"}, {"sizes", {8}}, {"units", {1}}, {"persistent", true}}, 1));
  EXPECT_TRUE(eventually([&] { return own.usage().at("windows") == sessions; }));
  ::kill(control, SIGCONT);
  int served = 0;
  for (auto const& each : many) {
    for (; !each->has_answer(); ++served) (void)other.request({{"op", "usage"}});
    EXPECT_TRUE(each->receive().contains("port"));
  }
  EXPECT_GE(served, 10);
}

/// Other clients wait behind the abandoned connections in the queue of the socket.
TEST_F(Turns, AbandonedConnectionsDoNotBlockControlProcess) {
  constexpr int requests = 300;
  start();
  pid_t const control = server.control_process();
  RawClient busy(server.address());
  EXPECT_EQ(busy.ask({{"op", "usage"}}).at("grants"), 1);
  stop_process(control);
  busy.send(frames({{"op", "usage"}}, requests));
  EXPECT_TRUE(as_user(attacker, [&] {
    for (int i = 0; i < requests * 2; ++i) (void)connect_unix(server.address().unix_path);
    return true;
  }));
  RawClient newcomer(server.address());
  newcomer.send(frames({{"op", "revoke"}, {"grant", grant.grant}, {"version", protocol_version}}, 1));
  ::kill(control, SIGCONT);
  int served_before = 0;
  for (int i = 0; i < requests; ++i) {
    if (busy.receive().at("grants") == 1) ++served_before;
  }
  EXPECT_LE(served_before, requests / 4);
  EXPECT_TRUE(newcomer.receive().contains("grant"));
}

TEST_F(Turns, RequestsOfOtherUserDoNotBlockControlProcess) {
  start();
  // The stranger may use this window: a refusal would be delayed, and the server would serve others during
  // the delay in any case.
  std::string const port = window_of_many_regions(0644);
  EXPECT_TRUE(as_user(owner, [&] {
    server.ask({{"op", "publish"}, {"name", "field"}, {"port", port}});
    return true;
  }));
  EXPECT_TRUE(as_user(attacker, [&] {
    Client other(server.address());
    RawClient stranger(server.address());
    (void)stranger.ask({{"op", "hello"}});
    int const served = served_during(
        stranger, {{"op", "lookup"}, {"name", "~" + std::to_string(owner) + "/field"}}, 100, [&] {
          (void)other.request({{"op", "usage"}});
        });
    EXPECT_GE(served, 10);
    return served >= 10;
  }));
}

std::vector<std::byte> read_all(std::string const& port) {
  WindowInfo window;
  Session session = Session::connect(port, &window);
  return content(session, window, 0);
}

TEST_F(Turns, PersistOfLargeWindowDoesNotBlockDataProcess) {
  if (test::sanitized) GTEST_SKIP() << "loads a library before the sanitizer's";
  start_with_file();
  Session session = Session::open(grant);
  WindowInfo const window = session.allocate({large}, {1}, {.persistent = true, .mode = 0666});
  GrantMapping const memory = session.map();
  auto const written = pattern(large, 3);
  std::memcpy(memory.base() + window.regions[0].offset, written.data(), large);
  EXPECT_TRUE(as_user(attacker, [&] {
    WindowInfo found;
    Session other = Session::connect(window.port, &found);
    RawClient guest(server.address());
    (void)guest.ask({{"op", "connect"}, {"port", window.port}});
    int const served =
        served_during(guest, {{"op", "persist"}, {"window", window.id}}, 1, [&] { (void)other.usage(); });
    EXPECT_GE(served, 4);
    return served >= 4;
  }));
  kill_and_restart();
  EXPECT_TRUE(read_all(window.port) == written);
}

TEST_F(Turns, NewPersistentWindowDoesNotBlockDataProcess) {
  if (test::sanitized) GTEST_SKIP() << "loads a library before the sanitizer's";
  start_with_file();
  Session other = Session::open(grant);
  RawClient allocating(server.address());
  (void)allocating.ask({{"op", "open"}, {"grant", grant.grant}});
  Json const request{
      {"op", "allocate"}, {"sizes", {large}}, {"units", {1}}, {"persistent", true}, {"mode", 0600}};
  allocating.send(frames(request, 1));
  int served = 0;  // while the window goes to storage; afterwards it is persistent, and enters the catalog
  while (!allocating.has_answer()) {
    Json const now = other.usage();
    if (now.at("windows") == 1 && now.at("persistent") == 0) ++served;
  }
  EXPECT_GE(served, 4);
  EXPECT_TRUE(allocating.receive().contains("port"));
  EXPECT_EQ(server.show(grant).at("window_list").size(), 1u);
}

/// A slow disk delays only those clients that wait for the disk.
TEST_F(Turns, PersistToSlowDiskDoesNotBlockDataProcess) {
  if (test::sanitized) GTEST_SKIP() << "loads a library before the sanitizer's";
  start_with_file();
  Session session = Session::open(grant);
  WindowInfo const window =
      session.allocate({10000}, {1}, {.persistent = true, .durability = Durability::storage, .mode = 0666});
  session.write(window, 0, 0, pattern(10000, 3));
  std::ofstream(held_sync()).put('x');
  RawClient waiting(server.address());
  (void)waiting.ask({{"op", "connect"}, {"port", window.port}});
  waiting.send(frames({{"op", "persist"}, {"window", window.id}}, 1));
  for (unsigned i = 0; i < 100; ++i) {
    session.write(window, 0, i, pattern(1, 100 + i));
    EXPECT_FALSE(waiting.has_answer());
  }
  std::filesystem::remove(held_sync());
  EXPECT_EQ(waiting.receive(), (Json{{"ok", true}}));
  session.persist(window);
  kill_and_restart();
  auto expected = pattern(10000, 3);
  for (unsigned i = 0; i < 100; ++i) expected[i] = pattern(1, 100 + i)[0];
  EXPECT_TRUE(read_all(window.port) == expected);
}

/// A session that ends while its window goes to storage.
TEST_F(Turns, SessionThatEndsDuringSyncCreatesNoWindow) {
  if (test::sanitized) GTEST_SKIP() << "loads a library before the sanitizer's";
  start_with_file();
  Session other = Session::open(grant);
  std::ofstream(held_sync()).put('x');
  {
    RawClient waiting(server.address());
    (void)waiting.ask({{"op", "open"}, {"grant", grant.grant}});
    waiting.send(frames({{"op", "allocate"},
                         {"sizes", {10000}},
                         {"units", {1}},
                         {"persistent", true},
                         {"durability", "storage"}},
                        1));
    EXPECT_TRUE(eventually([&] { return other.usage().at("windows") == 1; }));
  }
  EXPECT_TRUE(eventually([&] { return other.usage().at("windows") == 0; }));
  std::filesystem::remove(held_sync());
  WindowInfo const window =
      other.allocate({large}, {1}, {.persistent = true, .durability = Durability::storage});
  EXPECT_EQ(other.usage().at("windows"), 1);
  EXPECT_TRUE(content(other, window, 0) == std::vector<std::byte>(large));
}

}  // namespace
}  // namespace mpixrma::nam
