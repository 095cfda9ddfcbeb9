/// Connections to UCX's port of a data process, from hosts with and without a session.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <sstream>

#include "tests/nam/attacks/server_resources.hpp"
#include "tests/nam/job_engine.hpp"
#include "tests/nam/windows_of_server.hpp"

namespace mpixrma::nam {
namespace {

/// Returns the local ports of the IPv4 sockets of a process that are in the state `wanted` (net/tcp_states.h,
/// in hexadecimal).
std::vector<std::uint16_t> ports_in_state(pid_t process, std::string const& wanted) {
  std::set<std::string> own;
  for (auto const& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/fd")) {
    std::error_code ignored;
    own.insert(std::filesystem::read_symlink(entry, ignored).string());
  }
  std::vector<std::uint16_t> ports;
  std::ifstream table("/proc/net/tcp");
  std::string line;
  std::getline(table, line);
  while (std::getline(table, line)) {
    std::istringstream words(line);
    std::string number, local, remote, state, inode;
    words >> number >> local >> remote >> state;
    for (int i = 0; i < 6 && words >> inode; ++i) {
    }
    if (state == wanted && own.contains("socket:[" + inode + "]"))
      ports.push_back(static_cast<std::uint16_t>(std::stoul(local.substr(local.find(':') + 1), nullptr, 16)));
  }
  return ports;
}
std::vector<std::uint16_t> listening_ports(pid_t process) { return ports_in_state(process, "0A"); }
std::size_t connections_of(pid_t process) { return ports_in_state(process, "01").size(); }

/// Waits 20 seconds at most for data or the end of the connection. Returns whether the connection has ended;
/// otherwise reads a byte of the data.
bool has_ended(FileDescriptor const& socket) {
  char byte = 0;
  pollfd entry{socket.get(), POLLIN, 0};
  return ::poll(&entry, 1, 20000) == 1 && ::recv(socket.get(), &byte, 1, MSG_DONTWAIT) <= 0;
}

/// Messages of UCX's protocol over TCP.
using Text = std::string;
template <typename... Parts>
Text text_of(Parts... parts) {
  Text text;
  (text.append(reinterpret_cast<char const*>(&parts), sizeof parts), ...);
  return text;
}
Text message(std::uint8_t id, std::uint32_t announced, Text const& body) {
  return text_of(id) + text_of(announced) + body;
}
/// The beginning of each connection.
Text opening() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(0x4242);
  ::inet_pton(AF_INET, "127.0.0.9", &address.sin_addr);
  Text const request = text_of(std::uint32_t{1}, std::uint8_t{0}, std::uint64_t{0}, address);
  return text_of(std::uint64_t{0xcafebabe12345678}) +
         message(32, static_cast<std::uint32_t>(request.size()), request);
}

/// Connects from `host`, a loopback address other than the clients'.
FileDescriptor connect_from(char const* host, std::uint16_t port) {
  FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  ::inet_pton(AF_INET, host, &address.sin_addr);
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ::inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  address.sin_port = htons(port);
  EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  return socket;
}

class Port : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!is_root()) GTEST_SKIP() << "needs descriptors";
    rlimit const many{8192, 8192};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &many), 0);
    start_with_descriptors(server_, {"--size", "64M", "--listen", "none", "--interfaces", "lo"}, 1024, 1024);
    grant_ = server_.grant(8u << 20);
    process_ = server_.data_process(grant_);
  }
  /// Opens a session whose client claims that its host has the address `host`.
  Client session_from(char const* host) const {
    Client client(grant_.address);
    client.request({{"op", "open"}, {"grant", grant_.grant}});
    std::vector<std::byte> address;
    (void)client.exchange({{"op", "engine_address"}, {"addresses", {host}}}, {}, &address, nullptr);
    return client;
  }
  /// Puts by a new engine, over a new TCP connection. Returns whether the window then has the data.
  bool new_job_puts(unsigned seed) const {
    ::setenv("UCX_TLS", "tcp", 1);
    Session session = Session::open(grant_);
    std::vector<std::byte> const address = session.engine_address();
    WindowInfo const window = session.allocate({4096}, {1});
    JobEngine job;
    ::unsetenv("UCX_TLS");
    job.connect(address);
    return job.put_within(5000, window.exposure, 0, pattern(4096, seed)) == 0 &&
           content(session, window, 0) == pattern(4096, seed);
  }
  std::vector<std::uint16_t> ports() const {
    std::vector<std::uint16_t> found = listening_ports(process_);
    EXPECT_FALSE(found.empty());
    return found;
  }
  std::vector<FileDescriptor> silent_connections(int count, char const* host) const {
    std::vector<FileDescriptor> silent;
    for (std::uint16_t const port : ports()) {
      for (int i = 0; i < count; ++i) silent.push_back(connect_from(host, port));
    }
    EXPECT_GE(silent.size(), static_cast<std::size_t>(count));
    return silent;
  }

  TestServer server_;
  Locator grant_;
  pid_t process_ = 0;
};

TEST_F(Port, SilentConnectionsDoNotBlockDataOfSession) {
  Session session = Session::open(grant_);
  std::vector<std::byte> const address = session.engine_address();
  WindowInfo const window = session.allocate({4096}, {1});
  JobEngine job;
  job.connect(address);
  EXPECT_EQ(job.put(window.exposure, 0, pattern(4096, 1)), 0);
  Client const neighbour = session_from("127.0.0.9");
  auto silent = silent_connections(2000, "127.0.0.9");
  EXPECT_EQ(job.put(window.exposure, 0, pattern(4096, 2)), 0) << "a connection that was there";
  EXPECT_EQ(content(session, window, 0), pattern(4096, 2));
  for (unsigned i = 0; i < 20; ++i) {
    Session local = Session::open(grant_);
    WindowInfo const made = local.allocate({4096}, {1});
    local.write(made, 0, 0, pattern(4096, i));
    EXPECT_EQ(content(local, made, 0), pattern(4096, i));
  }
  EXPECT_TRUE(new_job_puts(3)) << "a connection that is new, while silent_connections have theirs";
  EXPECT_EQ(server_.data_process(grant_), process_);
  silent.clear();
  EXPECT_TRUE(new_job_puts(4));
}

TEST_F(Port, SilentConnectionsEnd) {
  Client const neighbour = session_from("127.0.0.9");
  auto const begin = std::chrono::steady_clock::now();
  auto const silent = silent_connections(300, "127.0.0.9");
  EXPECT_TRUE(eventually([&] {
    return std::all_of(silent.begin(), silent.end(), [](FileDescriptor const& each) {
      char byte = 0;
      ssize_t const got = ::recv(each.get(), &byte, 1, MSG_DONTWAIT);
      return got == 0 || (got < 0 && errno != EAGAIN);
    });
  }));
  // Connections that are not admitted end at once.
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  EXPECT_TRUE(new_job_puts(1));
}

/// Each of these messages crashes a process in which UCX 1.13 receives it.
TEST_F(Port, HostsWithoutSessionCannotReachUcx) {
  Session const session = [&] {
    Session made = Session::open(grant_);
    (void)made.engine_address();
    return made;
  }();
  Text const to_address_0 = text_of(std::uint64_t{0}, std::uint64_t{8}, std::uint32_t{1});
  std::vector<std::pair<char const*, Text>> const attacks{
      {"a put", message(33, 20, to_address_0) + Text(8, 'x')},
      {"a long message", message(23, 0x7fffffff, Text(1u << 20, 'x'))},
      {"an unknown message", message(40, 8, Text(8, 'x'))},
      {"an empty address", message(1, 0, {})},
      {"an address that is none", message(1, 64, Text(64, '\0'))},
  };
  for (auto const& [what, text] : attacks) {
    for (std::uint16_t const port : ports()) {
      FileDescriptor const stranger = connect_from("127.0.0.9", port);
      Text const all = opening() + text;
      (void)::send(stranger.get(), all.data(), all.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      EXPECT_TRUE(has_ended(stranger)) << what;
    }
  }
  EXPECT_TRUE(new_job_puts(1));
  EXPECT_EQ(server_.data_process(grant_), process_);
}

TEST_F(Port, AdmitsAHostAsLongAsItHasASession) {
  auto const is_admitted = [&](char const* host) {
    std::vector<std::uint16_t> const all = ports();
    return std::all_of(all.begin(), all.end(), [&](std::uint16_t port) {
      FileDescriptor const client = connect_from(host, port);
      Text const request = opening();
      (void)::send(client.get(), request.data(), request.size(), MSG_NOSIGNAL);
      return !has_ended(client);
    });
  };
  Client const other = session_from("127.0.0.8");
  EXPECT_FALSE(is_admitted("127.0.0.9"));
  {
    Client const first = session_from("127.0.0.9");
    {
      Client const second = session_from("127.0.0.9");
      EXPECT_TRUE(is_admitted("127.0.0.9"));
    }
    EXPECT_TRUE(eventually([&] { return server_.show(grant_).at("sessions") == 2; }));
    EXPECT_TRUE(is_admitted("127.0.0.9"));
  }
  EXPECT_TRUE(eventually([&] { return server_.show(grant_).at("sessions") == 1; }));
  EXPECT_FALSE(is_admitted("127.0.0.9"));
  EXPECT_TRUE(is_admitted("127.0.0.8"));
  EXPECT_TRUE(new_job_puts(1));
}

TEST_F(Port, EndsConnectionsOfHostWithoutSessions) {
  Client const other = session_from("127.0.0.8");
  std::vector<FileDescriptor> connections;
  {
    Client const client = session_from("127.0.0.9");
    for (std::uint16_t const port : ports()) {
      connections.push_back(connect_from("127.0.0.9", port));
      Text const request = opening();
      (void)::send(connections.back().get(), request.data(), request.size(), MSG_NOSIGNAL);
      EXPECT_FALSE(has_ended(connections.back()));  // reads the answer
    }
  }
  for (FileDescriptor const& connection : connections)
    EXPECT_TRUE(eventually([&] { return has_ended(connection); }));
  EXPECT_TRUE(new_job_puts(1));
  EXPECT_EQ(server_.data_process(grant_), process_);
}

/// A client that still has its engine's connection when its session ends.
TEST_F(Port, EndsConnectionsOfASessionThatHasEnded) {
  ::setenv("UCX_TLS", "tcp", 1);
  JobEngine job;
  ::unsetenv("UCX_TLS");
  std::uint64_t exposure = 0;
  {
    Session session = Session::open(grant_);
    WindowInfo const window = [&] {
      job.connect(session.engine_address());
      return session.allocate({4096}, {1});
    }();
    exposure = window.exposure;
    EXPECT_EQ(job.put(exposure, 0, pattern(4096, 1)), 0);
    EXPECT_GT(connections_of(process_), 0u);
  }
  EXPECT_TRUE(eventually([&] { return connections_of(process_) == 0; }));
  EXPECT_NE(job.put_within(1000, exposure, 0, pattern(4096, 1)), 0);
  EXPECT_TRUE(new_job_puts(1));
  EXPECT_EQ(server_.data_process(grant_), process_);
}

}  // namespace
}  // namespace mpixrma::nam
