/// Attacks on the handover of sessions from the control process to a data process: the owner of the grant,
/// who shares memory with the data process, stops that process.
#include <sys/resource.h>
#include <sys/socket.h>

#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "nam/process/connection.hpp"
#include "nam/protocol/channel.hpp"
#include "nam/protocol/socket.hpp"
#include "nam/protocol/version.hpp"
#include "nam/server/main_process_link.hpp"
#include "tests/nam/attacks/attack.hpp"
#include "tests/nam/attacks/server_resources.hpp"
#include "tests/nam/attacks/users.hpp"
#include "tests/nam/windows_of_server.hpp"

namespace mpixrma::nam {
namespace {

constexpr uid_t guest = 64002;
constexpr std::size_t in_flight = 64;      ///< sessions of a grant that no data process has acknowledged
constexpr std::size_t waiting_guest = 64;  ///< sessions of a guest that wait
constexpr std::size_t connections = 256;   ///< limit of the server for all users together
constexpr std::size_t of_owner = connections / 2;
constexpr std::size_t many = 900;

/// Connections that each send `request`, and the answers that have come.
class Sessions {
 public:
  Sessions(Address const& server, std::size_t count, Json request) {
    request["version"] = protocol_version;
    for (std::size_t i = 0; i < count; ++i) {
      Channel& each = channels_.emplace_back(connect_unix(server.unix_path), ChannelLimits{});
      each.post(request);
      (void)each.flush();
    }
  }
  /// Waits until exactly `count` connections have an answer with this error code; an empty `error` stands for
  /// answers without an error.
  bool have_answers(std::size_t count, std::string const& error) {
    return eventually([&] {
      std::size_t found = 0;
      for (std::size_t i = 0; i < channels_.size(); ++i) {
        (void)channels_[i].fill();
        if (auto answer = channels_[i].next()) answers_[i] = std::move(answer->head);
      }
      for (auto const& [index, answer] : answers_) found += answer.value("error", "") == error ? 1 : 0;
      return found == count;
    });
  }
  std::size_t answers() const { return answers_.size(); }

 private:
  std::vector<Channel> channels_;
  std::map<std::size_t, Json> answers_;
};

class Handover : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!is_root()) GTEST_SKIP() << "needs other users";
  }
  void start(std::size_t connections_of_all, rlim_t descriptors) {
    start_with_descriptors(
        server,
        {"--size", "64M", "--listen", "none", "--max-connections", std::to_string(connections_of_all)},
        descriptors, descriptors);
    grant = server.grant(1u << 20, {{"owner", std::to_string(owner)}});
    process = server.data_process(grant);
  }
  Json open() const { return {{"op", "open"}, {"grant", grant.grant}}; }
  std::size_t connections_of_all() const { return server.ask({{"op", "usage"}}).at("connections"); }
  bool log_has(std::string const& text) const {
    std::ifstream file(server.directory() / "log");
    for (std::string line; std::getline(file, line);) {
      if (line.find(text) != std::string::npos) return true;
    }
    return false;
  }

  TestServer server;
  Locator grant;
  pid_t process = 0;
};

/// All connections with a place get a session as soon as the data process goes on.
TEST_F(Handover, SessionsForAStoppedProcessKeepTheirPlaces) {
  start(connections, 512);
  Locator const other = server.grant(1u << 20, {{"owner", std::to_string(guest)}});
  stop_process(process);
  Attack const attack(owner, [&] {
    auto sessions = std::make_shared<Sessions>(server.address(), many, open());
    return sessions->have_answers(many - of_owner, "quota") ? sessions : nullptr;
  });
  EXPECT_EQ(connections_of_all(), of_owner + 1) << "and the one that asks";
  EXPECT_TRUE(as_user(guest, [&] {
    std::vector<std::byte> const bytes = pattern(100, 1);
    Session session = Session::open(other);
    WindowInfo const window = session.allocate({100}, {1});
    session.write(window, 0, 0, bytes);
    return content(session, window, 0) == bytes;
  }));
  // The server still has descriptors for other grants.
  Locator const third = server.grant(1u << 20);
  expect_pattern(make_persistent(third, 100, 1).port, 100, 1);
  ::kill(server.data_process(third), SIGKILL);
  EXPECT_TRUE(eventually([&] { return server.show(third).at("ready") == true; }));
  ASSERT_EQ(::kill(process, SIGCONT), 0);
  EXPECT_TRUE(eventually([&] { return server.show(grant).at("sessions") == of_owner; }));
  EXPECT_EQ(connections_of_all(), 1u) << "the data process has the others";
  EXPECT_EQ(server.data_process(grant), process);
}

TEST_F(Handover, DisconnectedClientsAreRemovedFromQueue) {
  start(connections, 512);
  stop_process(process);
  EXPECT_TRUE(as_user(owner, [&] {
    // One place is for the request of connections_of_all().
    Sessions const sessions(server.address(), of_owner - 1, open());
    return eventually([&] { return connections_of_all() == of_owner; });
  }));
  EXPECT_TRUE(eventually([&] { return connections_of_all() == in_flight + 1; }));
  ASSERT_EQ(::kill(process, SIGCONT), 0);
  EXPECT_TRUE(eventually([&] { return connections_of_all() == 1; }));
}

TEST_F(Handover, GuestsHaveAShareOfTheSessionsThatWait) {
  start(1024, 4096);
  std::string const port = make_persistent(grant, 100, 1, {.mode = 0644}).port;
  EXPECT_TRUE(eventually([&] { return server.show(grant).at("sessions") == 0; }));
  stop_process(process);
  Attack const first(owner, [&] {
    auto sessions = std::make_shared<Sessions>(server.address(), in_flight, open());
    // A user's requests are served one after the other: the sessions are in flight when this is answered.
    Sessions question(server.address(), 1, {{"op", "show"}, {"grant", grant.grant}});
    return question.have_answers(1, "") ? sessions : nullptr;
  });
  EXPECT_TRUE(eventually([&] { return connections_of_all() == in_flight + 1; }));
  Attack const attack(guest, [&] {
    auto sessions =
        std::make_shared<Sessions>(server.address(), 100, Json{{"op", "connect"}, {"port", port}});
    return sessions->have_answers(100 - waiting_guest, "quota") ? sessions : nullptr;
  });
  EXPECT_EQ(connections_of_all(), in_flight + waiting_guest + 1);
  ASSERT_EQ(::kill(process, SIGCONT), 0);
  EXPECT_TRUE(eventually([&] { return server.show(grant).at("sessions") == in_flight + waiting_guest; }));
}

/// The same happens when other processes of the system use up all descriptors.
TEST_F(Handover, LackOfDescriptorsDelaysADataProcess) {
  server.start({"--size", "64M", "--listen", "none", "--storage", "file"});
  Locator const kept = server.grant(1u << 20);
  std::string const port = make_persistent(kept, 100, 1).port;
  pid_t const control = server.control_process();
  pid_t const before = server.data_process(kept);
  rlimit limit{};
  ASSERT_EQ(::prlimit(control, RLIMIT_NOFILE, nullptr, &limit), 0);
  rlimit const none{3, limit.rlim_max};
  ASSERT_EQ(::prlimit(control, RLIMIT_NOFILE, &none, nullptr), 0);
  ASSERT_EQ(::kill(before, SIGKILL), 0);
  EXPECT_TRUE(eventually([&] { return log_has("Too many open files"); }));
  ASSERT_EQ(::prlimit(control, RLIMIT_NOFILE, &limit, nullptr), 0);
  EXPECT_TRUE(eventually([&] { return server.show(kept).at("state") != "preparing"; }));
  EXPECT_EQ(server.show(kept).at("state"), "ready");
  EXPECT_NE(server.data_process(kept), before);
  expect_pattern(port, 100, 1);
}

/// The main process keeps three descriptors of each grant.
TEST_F(Handover, MainProcessRaisesItsLimitOfDescriptors) {
  constexpr rlim_t most = 4096;
  start_with_descriptors(server, TestServer::defaults(), 32, most);
  rlimit limit{};
  ASSERT_EQ(::prlimit(server.pid(), RLIMIT_NOFILE, nullptr, &limit), 0);
  EXPECT_EQ(limit.rlim_cur, most);
  std::vector<Locator> grants;
  for (int i = 0; i < 24; ++i) grants.push_back(server.grant(4096));
  pid_t const control = server.control_process();
  pid_t const before = server.data_process(grants.back());
  ASSERT_EQ(::kill(before, SIGKILL), 0);
  EXPECT_TRUE(eventually([&] { return server.data_process(grants.back()) != before; }));
  EXPECT_TRUE(eventually([&] { return server.show(grants.back()).at("ready").get<bool>(); }));
  EXPECT_EQ(server.control_process(), control);
}

/// A start whose descriptor did not arrive is tried again: the link to the main process stays.
TEST_F(Handover, LackOfDescriptorsInTheMainProcessDelaysADataProcess) {
  server.start();
  Locator const kept = server.grant(1u << 20);
  std::string const port = make_persistent(kept, 100, 1).port;
  pid_t const control = server.control_process();
  pid_t const before = server.data_process(kept);
  rlimit limit{};
  ASSERT_EQ(::prlimit(server.pid(), RLIMIT_NOFILE, nullptr, &limit), 0);
  rlimit const none{3, limit.rlim_max};
  ASSERT_EQ(::prlimit(server.pid(), RLIMIT_NOFILE, &none, nullptr), 0);
  ASSERT_EQ(::kill(before, SIGKILL), 0);
  EXPECT_TRUE(eventually([&] { return log_has("too many descriptors"); }));
  ASSERT_EQ(::prlimit(server.pid(), RLIMIT_NOFILE, &limit, nullptr), 0);
  EXPECT_TRUE(eventually([&] { return server.show(kept).at("state") == "ready"; }));
  EXPECT_NE(server.data_process(kept), before);
  EXPECT_EQ(server.control_process(), control);
  expect_pattern(port, 100, 1);
}

/// The main process keeps the memory that it has when it cannot receive the descriptors of the same memory
/// again.
TEST_F(Handover, LackOfDescriptorsInTheMainProcessLosesNoMemory) {
  server.start();
  Locator const kept = server.grant(1u << 20);
  std::string const port = make_persistent(kept, 100, 1).port;
  // The new data process begins with the limit, too: one that is too low for the main process suffices for
  // it.
  for (int i = 0; i < 16; ++i) (void)server.grant(4096);
  pid_t const before = server.data_process(kept);
  rlimit limit{};
  ASSERT_EQ(::prlimit(server.pid(), RLIMIT_NOFILE, nullptr, &limit), 0);
  rlim_t free_one = 0;
  while (std::filesystem::exists("/proc/" + std::to_string(server.pid()) + "/fd/" + std::to_string(free_one)))
    ++free_one;
  // Enough for the socket of the new process, and not for its memory.
  rlimit const one{free_one + 1, limit.rlim_max};
  ASSERT_EQ(::prlimit(server.pid(), RLIMIT_NOFILE, &one, nullptr), 0);
  ASSERT_EQ(::kill(before, SIGKILL), 0);
  EXPECT_TRUE(eventually(
      [&] { return server.data_process(kept) != before && server.show(kept).at("ready").get<bool>(); }));
  stop_process(server.pid());
  ASSERT_EQ(::prlimit(server.pid(), RLIMIT_NOFILE, &limit, nullptr), 0);
  pid_t const after = server.data_process(kept);
  ASSERT_EQ(::kill(server.control_process(), SIGKILL), 0);
  ASSERT_EQ(::kill(after, SIGKILL), 0);
  ASSERT_EQ(::kill(server.pid(), SIGCONT), 0);
  EXPECT_TRUE(eventually([&] { return server.answers(); }));
  expect_pattern(port, 100, 1);
}

struct Pair {
  FileDescriptor near;
  FileDescriptor far;

  Pair() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    near = FileDescriptor(ends[0]);
    far = FileDescriptor(ends[1]);
  }
};

/// Each side sends more than the sockets buffer before it reads. The far side does not read while more than
/// 1 MiB of its own data waits to be sent: the near side must therefore read at all times.
TEST(Link, BothSidesMakeProgressWhileTheySend) {
  Pair pair;
  constexpr int count = 64;
  std::vector<std::byte> const bytes = pattern(64u << 10, 1);
  EventLoop loop;
  int received[2] = {0, 0};
  auto const side = [&](FileDescriptor socket, int index, std::size_t max_output) {
    auto made = std::make_unique<Connection>(
        loop, Channel(std::move(socket), {}),
        [&, index](Message& message) {
          EXPECT_EQ(field<unsigned>(message.head, "number"), static_cast<unsigned>(received[index]));
          EXPECT_EQ(message.data, bytes);
          ++received[index];
          if (received[0] == count && received[1] == count) loop.stop();
        },
        [&] { loop.stop(); });
    made->read_while_sending(max_output);
    return made;
  };
  auto const near = side(std::move(pair.near), 0, std::numeric_limits<std::size_t>::max());
  auto const far = side(std::move(pair.far), 1, 1u << 20);
  for (unsigned i = 0; i < count; ++i) {
    near->post({{"number", i}}, bytes);
    far->post({{"number", i}}, bytes);
  }
  EventLoop::start_timer(loop.add_timer([&] { loop.stop(); }), std::chrono::seconds(60));
  loop.run();
  EXPECT_EQ(received[0], count);
  EXPECT_EQ(received[1], count);
}

std::vector<FileDescriptor> one_descriptor() {
  std::vector<FileDescriptor> made;
  made.emplace_back(::dup(0));
  return made;
}

/// The system counts descriptors in flight, sent and not yet received, and refuses more of them to an
/// unprivileged user. Until drain(), this user has as many in flight as are permitted.
class CrowdedUser {
 public:
  CrowdedUser() : channel_(std::move(pair_.near), {}) {
    rlimit limit{};
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
    rlimit const few{32, limit.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    for (unsigned i = 0; i < 64 && !channel_.is_starved(); ++i) {
      channel_.post({{"number", i}}, {}, one_descriptor());
      EXPECT_TRUE(channel_.flush());
    }
    EXPECT_TRUE(channel_.is_starved());
  }
  void drain() { pair_.far = FileDescriptor(); }

 private:
  Pair pair_;
  Channel channel_;
};

constexpr uid_t crowded = 64005;

TEST(Link, MessageWaitsForRoomInFlight) {
  if (!is_root()) GTEST_SKIP() << "needs other users";
  EXPECT_TRUE(as_user(crowded, [] {
    EventLoop loop;
    Pair pair;
    CrowdedUser user;
    bool is_closed = false;
    unsigned received = 0;
    Connection const receiver(
        loop, Channel(std::move(pair.far), {.descriptors = 1}),
        [&](Message& message) {
          received = field<unsigned>(message.head, "number");
          EXPECT_EQ(message.descriptors.size(), 1u);
          loop.stop();
        },
        [] {});
    Connection sender(
        loop, Channel(std::move(pair.near), {}), [](Message&) {}, [&] { is_closed = true; });
    sender.post({{"number", 7u}}, {}, one_descriptor());
    EXPECT_TRUE(sender.has_output());
    EventLoop::start_timer(loop.add_timer([&] { user.drain(); }), std::chrono::milliseconds(50));
    EventLoop::start_timer(loop.add_timer([&] { loop.stop(); }), std::chrono::seconds(60));
    loop.run();
    EXPECT_EQ(received, 7u);
    EXPECT_FALSE(is_closed);
    return !testing::Test::HasFailure();
  }));
}

TEST(Link, MainProcessGetsListenersLater) {
  if (!is_root()) GTEST_SKIP() << "needs other users";
  EXPECT_TRUE(as_user(crowded, [] {
    Pair pair;
    Channel main_process(std::move(pair.far), main_process_limits);
    main_process.post({{"op", "begin"}, {"first_user", 0u}, {"users", 0u}});
    EXPECT_TRUE(main_process.flush());
    MainProcessLink link(std::move(pair.near));
    FileDescriptor const listener = listen_tcp("127.0.0.1:0");
    CrowdedUser user;
    std::thread later([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      user.drain();
    });
    EXPECT_EQ(refusal([&] { link.keep_listener(listener, "here"); }), std::nullopt);
    later.join();
    EXPECT_TRUE(main_process.fill());
    auto const message = main_process.next();
    if (!message) return false;
    EXPECT_EQ(message->head.at("host"), "here");
    EXPECT_EQ(message->descriptors.size(), 1u);
    return !testing::Test::HasFailure();
  }));
}

/// The main process was stopped for longer than the control process waits.
TEST(Link, LateAnswerIsNotTakenForTheNextOne) {
  Pair pair;
  Pair data_process;
  Channel main_process(std::move(pair.far), main_process_limits);
  main_process.post({{"op", "begin"}, {"first_user", 0u}, {"users", 0u}});
  EXPECT_TRUE(main_process.flush());
  MainProcessLink link(std::move(pair.near), std::chrono::milliseconds(1));
  EXPECT_EQ(refusal([&] { (void)link.start("a", std::move(data_process.near)); }), ErrorCode::unavailable);
  EXPECT_TRUE(main_process.fill());
  std::optional<Message> const first = main_process.next();
  ASSERT_TRUE(first);
  auto const number = field<std::uint64_t>(first->head, "request");
  main_process.post({{"pid", 1u}, {"request", number}});
  main_process.post({{"error", "unavailable"}, {"text", "about no request"}});
  main_process.post({{"pid", 2u}, {"request", number + 1}});
  EXPECT_TRUE(main_process.flush());
  EXPECT_EQ(link.start("b", std::move(data_process.far)), 2);
}

}  // namespace
}  // namespace mpixrma::nam
