/// Unsolicited descriptors from clients. Dropping the last reference to a TCP socket with SO_LINGER and
/// unsent data would make the server wait.
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>

#include "nam/process/sandbox.hpp"
#include "nam/protocol/channel.hpp"
#include "nam/protocol/descriptor_refusal.hpp"
#include "nam/protocol/descriptors.hpp"
#include "nam/protocol/socket.hpp"
#include "nam/protocol/version.hpp"
#include "tests/nam/attacks/fake_server.hpp"
#include "tests/nam/attacks/server_resources.hpp"
#include "tests/nam/windows_of_server.hpp"

namespace mpixrma::nam {
namespace {

/// A TCP socket whose last close() waits for a day, and its peer, which reads nothing.
struct LingeringSocket {
  FileDescriptor socket;
  FileDescriptor peer;

  LingeringSocket() {
    FileDescriptor const listener = listen_tcp("127.0.0.1:0");
    socket = connect_tcp("127.0.0.1", port_of(listener), 1000);
    peer = accept_from(listener);
    std::array<char, 65536> const bytes{};
    while (::send(socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT) > 0) {
    }
    set_linger(86400);
  }
  ~LingeringSocket() { set_linger(0); }
  LingeringSocket(LingeringSocket const&) = delete;
  LingeringSocket& operator=(LingeringSocket const&) = delete;

  void set_linger(int seconds) const {
    linger const setting{seconds != 0, seconds};
    (void)::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &setting, sizeof setting);
  }
};

/// Sends one byte with the socket. The message then has the only reference to the socket. Returns false if
/// the kernel rejects the message.
bool send_away(LingeringSocket& sent, FileDescriptor const& receiver) {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  char byte = 'x';
  iovec part{&byte, 1};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  cmsghdr* const rights = CMSG_FIRSTHDR(&header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int));
  int const fd = sent.socket.get();
  std::memcpy(CMSG_DATA(rights), &fd, sizeof fd);
  if (::sendmsg(receiver.get(), &header, MSG_DONTWAIT | MSG_NOSIGNAL) != 1) return false;
  FileDescriptor const closed = std::move(sent.socket);
  return true;
}

/// Runs `body` in a process that is confined like a data process, and ends the process if `body` does not
/// return in time.
bool in_confined_process(std::function<bool()> const& body) {
  constexpr unsigned longest_s = 60;
  pid_t const child = ::fork();
  if (child == 0) {
    ::alarm(longest_s);
    drop_privileges();
    confine_data_process(DataProcessUser::of_server);
    ::_exit(enable_interrupted_waits() && body() ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

struct Connected {
  FileDescriptor sender;
  Channel receiver;
};

Connected connected_channel() {
  int pair[2] = {-1, -1};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  return {FileDescriptor(pair[0]),
          Channel(FileDescriptor(pair[1]), {.head_bytes = 4096, .data_bytes = 0, .descriptors = 0})};
}

TEST(Descriptors, UnaskedDescriptorDoesNotDelayReceiver) {
  EXPECT_TRUE(in_confined_process([] {
    Connected channel = connected_channel();
    LingeringSocket lingering;
    return send_away(lingering, channel.sender) && !channel.receiver.fill();
  }));
}

TEST(Descriptors, UnreadDescriptorDoesNotDelayClose) {
  EXPECT_TRUE(in_confined_process([] {
    LingeringSocket lingering;
    Connected channel = connected_channel();
    return send_away(lingering, channel.sender);
  }));
}

/// A session whose socket the data process does not receive any more.
TEST(Descriptors, DescriptorInUnsentSocketDoesNotDelayClose) {
  EXPECT_TRUE(in_confined_process([] {
    Connected session = connected_channel();
    LingeringSocket lingering;
    if (!send_away(lingering, session.sender)) return false;
    Connected link = connected_channel();
    std::vector<FileDescriptor> passed;
    passed.push_back(session.receiver.release());
    link.sender = FileDescriptor();
    link.receiver.post({{"op", "session"}}, {}, std::move(passed));
    return !link.receiver.flush();
  }));
}

TEST(Descriptors, InterruptedWaitsEndWithOutermostScope) {
  EXPECT_TRUE(in_confined_process([] {
    InterruptedWait const outer;
    { InterruptedWait const inner; }
    LingeringSocket lingering;
    FileDescriptor const closed = std::move(lingering.socket);
    return true;
  }));
}

/// The kernel bounds the descriptors in flight of all processes of a user together.
TEST(Descriptors, SessionThatReadsNoRepliesGetsDescriptorsOnce) {
  TestServer server;
  server.start();
  Locator const grant = server.grant(1u << 20);
  Channel session(connect_unix(server.address().unix_path), {.descriptors = 2});
  session.post({{"op", "open"}, {"grant", grant.grant}, {"version", protocol_version}});
  ASSERT_TRUE(await_message(session));
  Session other = Session::open(grant);
  WindowInfo const window = other.allocate({100}, {1});
  for (int i = 0; i < 50; ++i) session.post({{"op", "map"}});
  session.post({{"op", "processes"}, {"window", window.id}});
  ASSERT_TRUE(session.flush());
  // Sessions of a user take turns: after these requests, those above have been served.
  for (int i = 0; i < 60; ++i) (void)other.usage();
  auto const first = await_message(session);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->descriptors.size(), 2u);
  for (int i = 0; i < 50; ++i) {
    auto const refused = await_message(session);
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->head.value("error", ""), "quota") << i;
    EXPECT_TRUE(refused->descriptors.empty());
  }
  session.post({{"op", "map"}});
  auto const again = await_message(session);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->descriptors.size(), 2u);
}

/// For the lifetime of the object the process gets `left` more descriptors, 0 or 1.
class ScarceDescriptors {
 public:
  ScarceDescriptors(pid_t process, rlim_t left) : process_(process) {
    std::string const descriptors = "/proc/" + std::to_string(process_) + "/fd/";
    rlim_t free_one = 0;
    while (std::filesystem::exists(descriptors + std::to_string(free_one))) ++free_one;
    EXPECT_TRUE(set_limit(free_one + left));
  }
  ~ScarceDescriptors() { EXPECT_TRUE(set_limit(RLIM_INFINITY)); }
  ScarceDescriptors(ScarceDescriptors const&) = delete;
  ScarceDescriptors& operator=(ScarceDescriptors const&) = delete;

 private:
  /// As the process's user, because root may lack the right to change other users' limits.
  bool set_limit(rlim_t descriptors) const {
    return as_user(user_of(process_), [&] {
      rlimit limit{};
      if (::prlimit(process_, RLIMIT_NOFILE, nullptr, &limit) != 0) return false;
      limit.rlim_cur = std::min(descriptors, limit.rlim_max);
      return ::prlimit(process_, RLIMIT_NOFILE, &limit, nullptr) == 0;
    });
  }

  pid_t process_;
};

TEST(Descriptors, LackOfThemFailsRequestAndEndsNoSession) {
  if (!is_root()) GTEST_SKIP() << "needs other users";
  TestServer server;
  server.start();
  Locator const grant = server.grant(1u << 20);
  Session mapper = Session::open(grant);
  WindowInfo const window = mapper.allocate({100}, {1});
  GrantMapping const memory = mapper.map();
  Channel session(connect_unix(server.address().unix_path), {.descriptors = 2});
  session.post({{"op", "open"}, {"grant", grant.grant}, {"version", protocol_version}});
  ASSERT_TRUE(await_message(session));
  Json const request{{"op", "processes"}, {"window", window.id}};
  {
    ScarceDescriptors const scarce(server.data_process(grant), 0);
    session.post(request);
    auto const refused = await_message(session);
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->head.value("error", ""), "unavailable");
  }
  session.post(request);
  auto const answer = await_message(session);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->descriptors.size(), 1u);
}

/// The data process needs a descriptor to accept the new control process, and three for its memory.
TEST(Descriptors, LackOfThemDelaysAdoptionByControlProcess) {
  if (!is_root()) GTEST_SKIP() << "needs other users";
  TestServer server;
  server.start();
  Locator const grant = server.grant(1u << 20);
  Session session = Session::open(grant);
  pid_t const process = server.data_process(grant);
  pid_t const control = server.control_process();
  {
    ScarceDescriptors const scarce(process, 1);
    ASSERT_EQ(::kill(control, SIGKILL), 0);
    EXPECT_TRUE(eventually([&] { return server.answers() && server.control_process() != control; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // several attempts
  }
  EXPECT_TRUE(eventually([&] { return server.show(grant).at("state") == "ready"; }));
  EXPECT_EQ(server.data_process(grant), process);
  EXPECT_FALSE(refusal([&] { session.release(session.allocate({100}, {1})); }));
}

TEST(Descriptors, RefusingListenerAcceptsNoDescriptors) {
  constexpr int pass_rights = 83;  // SO_PASSRIGHTS
  FileDescriptor const probe(::socket(AF_UNIX, SOCK_STREAM, 0));
  int value = 0;
  socklen_t length = sizeof value;
  if (::getsockopt(probe.get(), SOL_SOCKET, pass_rights, &value, &length) != 0)
    GTEST_SKIP() << "the kernel does not refuse descriptors";
  TestServer server;
  server.start();
  LingeringSocket lingering;
  EXPECT_FALSE(send_away(lingering, connect_unix(server.address().unix_path)));
}

/// Clients that connect before the server takes over the listener: the kernel does not reject their
/// descriptors.
class EarlyClients : public ::testing::Test {
 protected:
  EarlyClients() : listener_(listen_unix(server_.address().unix_path, 0666)) {}

  FileDescriptor connect() const { return connect_unix(server_.address().unix_path); }
  void start() {
    server_.spawn(TestServer::defaults(), [this] {
      // A duplicate with another number does not have FD_CLOEXEC.
      FileDescriptor const copy(::fcntl(listener_.get(), F_DUPFD, 10));
      ::dup2(copy.get(), 3);
      ::setenv("LISTEN_PID", std::to_string(::getpid()).c_str(), 1);
      ::setenv("LISTEN_FDS", "1", 1);
    });
    listener_ = FileDescriptor();
  }

  TestServer server_;
  FileDescriptor listener_;
};

TEST_F(EarlyClients, UnaskedDescriptorDoesNotStallControlProcess) {
  FileDescriptor const read_from = connect();
  FileDescriptor closed = connect();
  LingeringSocket first;
  LingeringSocket second;
  ASSERT_TRUE(send_away(first, read_from));
  ASSERT_TRUE(send_away(second, closed));
  closed = FileDescriptor();
  start();
  server_.await();
}

TEST_F(EarlyClients, UnaskedDescriptorDoesNotStallDataProcess) {
  Channel session(connect(), {});
  start();
  server_.await();
  Locator const grant = server_.grant(1u << 20);
  session.post({{"op", "open"}, {"grant", grant.grant}, {"version", protocol_version}});
  auto const opened = await_message(session);
  ASSERT_TRUE(opened && opened->head.contains("free"));
  pid_t const process = server_.data_process(grant);
  stop_process(process);
  LingeringSocket lingering;
  ASSERT_TRUE(send_away(lingering, session.socket()));
  ASSERT_EQ(::kill(process, SIGCONT), 0);
  EXPECT_NO_THROW(make_persistent(grant, 100, 1));
}

/// Whether is_open_elsewhere() returns true in a process that calls `prepare` first.
template <typename Prepare>
bool seems_open_after(int memory, Prepare prepare) {
  pid_t const child = ::fork();
  if (child == 0) ::_exit(!prepare() ? 2 : is_open_elsewhere(memory) ? 1 : 0);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) < 2);
  return WEXITSTATUS(status) == 1;
}

/// Memory that clients may still map is not given to others because this process has no descriptor left.
TEST(Descriptors, ShortageOfDescriptorsDoesNotMakeMemoryUnused) {
  FileDescriptor const memory(::memfd_create("memory", MFD_CLOEXEC));
  ASSERT_TRUE(memory);
  EXPECT_FALSE(seems_open_after(memory.get(), [] { return true; }));
  EXPECT_TRUE(seems_open_after(memory.get(), [] {
    rlimit const none{0, 0};
    return ::setrlimit(RLIMIT_NOFILE, &none) == 0;
  }));
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  restrict_to_owner(memory.get());
  EXPECT_FALSE(seems_open_after(memory.get(), [] { return ::setuid(65534) == 0; })) << "without the rights";
}

}  // namespace
}  // namespace mpixrma::nam
