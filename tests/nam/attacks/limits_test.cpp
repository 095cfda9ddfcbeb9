/// Attacks on shared resources of a server: connections, memory, sessions, descriptors.
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "nam/data/shares.hpp"
#include "nam/protocol/channel.hpp"
#include "nam/protocol/socket.hpp"
#include "nam/protocol/version.hpp"
#include "tests/nam/attacks/attack.hpp"
#include "tests/nam/attacks/fake_server.hpp"
#include "tests/nam/attacks/server_resources.hpp"
#include "tests/nam/attacks/users.hpp"
#include "tests/nam/windows_of_server.hpp"

namespace mpixrma::nam {
namespace {

class ClientLimits : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!is_root()) GTEST_SKIP() << "needs other users";
  }
  void start(TestServer::Arguments const& arguments, rlim_t descriptors, rlim_t max_descriptors) {
    start_with_descriptors(server_, arguments, descriptors, max_descriptors);
  }
  std::shared_ptr<std::vector<FileDescriptor>> local_connections(int count) const {
    auto made = std::make_shared<std::vector<FileDescriptor>>();
    for (int i = 0; i < count; ++i) made->push_back(connect_unix(server_.address().unix_path));
    return made;
  }
  bool serves(uid_t uid) const {
    return as_user(uid, [&] { return server_.ask({{"op", "names"}}).contains("names"); });
  }

  TestServer server_;
};

TEST_F(ClientLimits, IdleConnectionsDoNotExhaustTheServer) {
  start(TestServer::defaults(), 1024, 4096);
  Attack const attack(attacker, [&] { return local_connections(1100); });
  EXPECT_TRUE(serves(harmless));
  Locator const grant = server_.grant(1u << 20);
  (void)make_persistent(grant, 100, 1);
}

TEST_F(ClientLimits, ConnectionsDoNotExhaustDescriptorsForGrants) {
  start(TestServer::defaults(), 64, 64);
  Attack const attack(attacker, [&] { return local_connections(200); });
  EXPECT_TRUE(serves(harmless));
  Locator const grant = server_.grant(1u << 20);
  (void)make_persistent(grant, 100, 1);
}

TEST_F(ClientLimits, SilentTcpConnectionsTimeOut) {
  start({"--size", "64M", "--listen", "127.0.0.1:0", "--max-connections", "256"}, 1024, 1024);
  Address const address = server_.grant(1u << 20).address;
  std::vector<FileDescriptor> silent;
  for (int i = 0; i < 300; ++i) silent.push_back(connect_tcp("127.0.0.1", address.port, 5000));
  EXPECT_TRUE(serves(harmless));
  EXPECT_TRUE(eventually([&] {
    char byte = 0;
    return std::all_of(silent.begin(), silent.end(), [&](FileDescriptor const& each) {
      ssize_t const got = ::recv(each.get(), &byte, 1, MSG_DONTWAIT | MSG_PEEK);
      return got == 0 || (got < 0 && errno == ECONNRESET) || got == 1;
    });
  }));
}

/// The grant bounds the memory of its owner. A JSON value takes much more memory than its text.
TEST_F(ClientLimits, MessagesOfManyValuesTakeLittleMemory) {
  start(TestServer::defaults(), 4096, 4096);
  Locator const grant = server_.grant(1u << 20);
  pid_t const process = server_.data_process(grant);
  std::size_t const before = resident_bytes(process);
  for (Json const& value : {Json(0), Json(""), Json::object(), Json{0}}) {
    Channel channel(connect_unix(server_.address().unix_path), {});
    channel.post({{"op", "open"}, {"grant", grant.grant}, {"version", protocol_version}});
    auto const opened = await_message(channel);
    ASSERT_TRUE(opened && !opened->head.contains("error"));
    std::size_t const count = (8u << 20) / (value.dump().size() + 1) - 100;
    channel.post({{"op", "usage"}, {"more", std::vector<Json>(count, value)}});
    while (channel.has_output() && channel.flush()) ::usleep(1000);
    auto const answer = await_message(channel);
    ASSERT_TRUE(answer) << value;
    EXPECT_EQ(answer->head.value("error", ""), "malformed") << value;
  }
  EXPECT_LT(resident_bytes(process), before + (64u << 20));
}

/// Each connection announces a mebibyte, and withholds the last bytes.
TEST_F(ClientLimits, UnfinishedMessagesTakeLittleMemory) {
  start(TestServer::defaults(), 4096, 4096);
  pid_t const control = server_.control_process();
  std::size_t const before = resident_bytes(control);
  Attack const attack(attacker, [&] {
    auto sockets = local_connections(300);
    struct {
      std::uint32_t magic = 0x316d616e;
      std::uint32_t head_bytes = 1u << 20;
      std::uint32_t data_bytes = 0;
      std::uint32_t descriptors = 0;
    } const header;
    std::vector<char> const part(1u << 16, ' ');
    for (FileDescriptor const& each : *sockets) {
      (void)::fcntl(each.get(), F_SETFL, 0);  // sends wait for the server
      (void)::send(each.get(), &header, sizeof header, MSG_NOSIGNAL);
      for (int i = 0; i < 15; ++i) {
        if (::send(each.get(), part.data(), part.size(), MSG_NOSIGNAL) < 0) break;
      }
    }
    return sockets;
  });
  EXPECT_TRUE(serves(harmless));
  EXPECT_LT(resident_bytes(control), before + (32u << 20));
}

TEST_F(ClientLimits, GuestsOfWindowDoNotExhaustSessionsOfOwner) {
  start({"--size", "64M", "--listen", "none", "--max-sessions", "8"}, 1024, 1024);
  Locator const grant = server_.grant(1u << 20, {{"owner", std::to_string(harmless)}});
  std::string const port = make_persistent(grant, 100, 1, {.mode = 0644}).port;
  EXPECT_TRUE(eventually([&] { return server_.show(grant).at("sessions") == 0; }));
  Attack const attack(attacker, [&] {
    auto sessions = std::make_shared<std::vector<Session>>();
    std::vector<WindowInfo> windows(10);
    for (WindowInfo& window : windows) {
      if (refusal([&] { sessions->push_back(Session::connect(port, &window)); }) == ErrorCode::quota) break;
    }
    return sessions->size() == 2 ? sessions : nullptr;
  });
  EXPECT_TRUE(as_user(harmless, [&] {
    std::vector<Session> own;
    for (int i = 0; i < 6; ++i) own.push_back(Session::open(grant));
    return own.back().usage().at("sessions").get<int>() == 8;
  }));
}

/// Eight guests who take as much as they can leave something to a ninth, and more once one of them has given
/// back his share.
TEST(GuestShares, OfManyUsersDoNotExhaustTheTotal) {
  Shares shares("things", 1024);
  auto const take_all = [&](uid_t user) {
    std::uint64_t taken = 0;
    while (!refusal([&] { shares.take({user, false}); })) ++taken;
    return taken;
  };
  std::uint64_t const first = take_all(1);
  EXPECT_EQ(first, 256u);
  for (uid_t user = 2; user <= 8; ++user) (void)take_all(user);
  EXPECT_GE(take_all(9), 1u);
  EXPECT_EQ(refusal([&] { shares.take({0, true}, 256); }), std::nullopt);
  shares.give_back({1, false}, first);
  EXPECT_GE(take_all(9), 100u);
}

TEST(GuestShares, OfSingleItemAreThatItem) {
  Shares shares("things", 1);
  EXPECT_EQ(refusal([&] { shares.take({1, false}); }), std::nullopt);
  EXPECT_EQ(refusal([&] { shares.take({2, false}); }), ErrorCode::quota);
}

/// A connection to the control process whose client reads no answers.
class FullSocket {
 public:
  explicit FullSocket(Address const& server) : channel_(connect_unix(server.unix_path), {}) {}

  /// Sends `count` requests; returns the bytes of the answers when no more come.
  std::size_t fill(std::size_t count) {
    while (count-- > 0 && ask({{"op", "hello"}, {"version", protocol_version}})) {
    }
    std::size_t bytes = 0;
    do {
      bytes = unread_bytes();
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
    } while (unread_bytes() != bytes);
    return bytes;
  }
  /// Returns false if the server takes no more requests.
  bool ask(Json const& request) {
    channel_.post(request);
    for (int waited_ms = 0; waited_ms < 500 && channel_.flush() && channel_.has_output(); ++waited_ms)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return !channel_.has_output();
  }
  bool is_closed() const {
    pollfd entry{channel_.descriptor(), POLLRDHUP, 0};
    return ::poll(&entry, 1, 0) == 1;
  }

 private:
  std::size_t unread_bytes() const {
    int bytes = 0;
    EXPECT_EQ(::ioctl(channel_.descriptor(), FIONREAD, &bytes), 0);
    return static_cast<std::size_t>(bytes);
  }

  Channel channel_;
};

/// Sessions beyond the share of their user get an error, for which their sockets have no room.
TEST_F(ClientLimits, RefusedSessionsThatDoNotReadKeepNoDescriptors) {
  start({"--size", "64M", "--listen", "none", "--max-sessions", "8"}, 4096, 4096);
  Locator const grant = server_.grant(1u << 20, {{"owner", std::to_string(harmless)}});
  std::string const port = make_persistent(grant, 100, 1, {.mode = 0644}).port;
  pid_t const process = server_.data_process(grant);
  EXPECT_TRUE(eventually([&] { return server_.show(grant).at("sessions") == 0; }));
  std::size_t const before = open_descriptors(process);
  Attack const attack(attacker, [&] {
    using Held = std::pair<std::vector<Session>, std::vector<FullSocket>>;
    auto held = std::make_shared<Held>();
    for (std::size_t i = 0; i < 2; ++i) {
      WindowInfo window;
      held->first.push_back(Session::connect(port, &window));
    }
    std::size_t const answer = FullSocket(server_.address()).fill(1);
    std::size_t const room = FullSocket(server_.address()).fill(SIZE_MAX);
    auto& full = held->second;
    for (int i = 0; i < 5; ++i) {
      bool const is_full = full.emplace_back(server_.address()).fill(room / answer) == room;
      if (!is_full || !full.back().ask({{"op", "connect"}, {"port", port}})) return std::shared_ptr<Held>();
    }
    bool const all_end = eventually([&] {
      return std::all_of(full.begin(), full.end(), [](FullSocket const& each) { return each.is_closed(); });
    });
    return all_end ? held : nullptr;
  });
  EXPECT_TRUE(eventually([&] { return server_.show(grant).at("sessions") == 2; }));
  EXPECT_LE(open_descriptors(process), before + 4);
}

/// The process has as many descriptors as it may have.
TEST(Channels, LackOfDescriptorsIsNoProtocolError) {
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
  Channel near(FileDescriptor(pair[0]), {});
  Channel far(FileDescriptor(pair[1]), {.descriptors = 2});
  for (int i = 0; i < 2; ++i) {
    std::vector<FileDescriptor> descriptors;
    descriptors.emplace_back(::dup(0));
    descriptors.emplace_back(::dup(0));
    near.post({{"number", i}}, {}, std::move(descriptors));
  }
  ASSERT_TRUE(near.flush());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  FileDescriptor const next(::dup(0));
  rlimit const none{static_cast<rlim_t>(next.get()) + 1, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  bool const filled = far.fill();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_TRUE(filled);
  auto const first = far.next();
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->descriptors.empty());
  ASSERT_TRUE(far.fill());
  auto const second = far.next();
  ASSERT_TRUE(second);
  EXPECT_EQ(field<unsigned>(second->head, "number"), 1u);
  EXPECT_EQ(second->descriptors.size(), 2u);
}

/// The account counts received bytes and bytes to be sent, until they are taken or sent.
TEST(Channels, AccountCountsBufferedBytes) {
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
  Channel far(FileDescriptor(pair[0]), {});
  std::size_t kept = 0;
  std::size_t most = 0;
  {
    Channel near(FileDescriptor(pair[1]), {});
    near.set_account([&](std::size_t before, std::size_t now) {
      EXPECT_EQ(before, kept);
      if (now > before && now > (3u << 20)) return false;
      kept = now;
      most = std::max(most, kept);
      return true;
    });
    far.post({{"ok", true}}, std::vector<std::byte>(1u << 20));
    while (far.has_output()) {
      ASSERT_TRUE(far.flush());
      ASSERT_TRUE(near.fill());
    }
    EXPECT_GE(most, 1u << 20);
    EXPECT_TRUE(near.next());
    EXPECT_EQ(kept, 0u) << "a channel at rest keeps nothing";
    near.post({{"ok", true}}, std::vector<std::byte>(2u << 20));
    EXPECT_TRUE(near.flush());
    EXPECT_GE(kept, 1u << 20);
    near.post({{"ok", true}}, std::vector<std::byte>(2u << 20));
    EXPECT_TRUE(near.has_output());
    EXPECT_FALSE(near.flush()) << "as if the other end were gone";
  }
  EXPECT_EQ(kept, 0u);
}

}  // namespace
}  // namespace mpixrma::nam
