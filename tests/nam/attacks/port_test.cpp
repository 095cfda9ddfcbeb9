/// Strangers at UCX's port of a data process.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <sstream>

#include "tests/nam/attacks/server_resources.hpp"
#include "tests/nam/job_engine.hpp"
#include "tests/nam/windows_of_server.hpp"

namespace mpixrma::nam {
namespace {

/// Ports at which a process listens by IPv4.
std::vector<std::uint16_t> listening_ports(pid_t process) {
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
    std::string number, local, remote, state, skipped, inode;
    words >> number >> local >> remote >> state;
    for (int i = 0; i < 6 && words >> inode; ++i) {
    }
    if (state == "0A" && own.contains("socket:[" + inode + "]"))
      ports.push_back(static_cast<std::uint16_t>(std::stoul(local.substr(local.find(':') + 1), nullptr, 16)));
  }
  return ports;
}

/// From another address of the loopback than that of clients.
FileDescriptor connect_from(char const* host, std::uint16_t port) {
  FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  ::inet_pton(AF_INET, host, &address.sin_addr);
  (void)::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
  ::inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  address.sin_port = htons(port);
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return {};
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
  /// By an engine that begins a connection now.
  bool new_job_puts(unsigned seed) const {
    Session session = Session::open(grant_);
    std::vector<std::byte> const address = session.reach();
    WindowInfo const window = session.allocate({4096}, {1});
    JobEngine job;
    job.meet(address);
    return job.put_within(5000, window.exposure, 0, pattern(4096, seed)) == 0 &&
           content(session, window, 0) == pattern(4096, seed);
  }
  std::vector<FileDescriptor> strangers(int count, char const* host) const {
    std::vector<FileDescriptor> silent;
    for (std::uint16_t const port : listening_ports(process_)) {
      for (int i = 0; i < count; ++i) silent.push_back(connect_from(host, port));
    }
    EXPECT_GE(silent.size(), static_cast<std::size_t>(count));
    return silent;
  }

  TestServer server_;
  Locator grant_;
  pid_t process_ = 0;
};

TEST_F(Port, StrangersThatSayNothingKeepNoSessionFromItsData) {
  Session session = Session::open(grant_);
  std::vector<std::byte> const address = session.reach();
  WindowInfo const window = session.allocate({4096}, {1});
  JobEngine job;
  job.meet(address);
  EXPECT_EQ(job.put(window.exposure, 0, pattern(4096, 1)), 0);
  auto silent = strangers(2000, "127.0.0.9");
  EXPECT_EQ(job.put(window.exposure, 0, pattern(4096, 2)), 0) << "a connection that was there";
  EXPECT_EQ(content(session, window, 0), pattern(4096, 2));
  for (unsigned i = 0; i < 20; ++i) {
    Session local = Session::open(grant_);
    WindowInfo const made = local.allocate({4096}, {1});
    local.write(made, 0, 0, pattern(4096, i));
    EXPECT_EQ(content(local, made, 0), pattern(4096, i));
  }
  EXPECT_TRUE(new_job_puts(3)) << "a connection that is new, while strangers have theirs";
  EXPECT_EQ(server_.data_process(grant_), process_);
  silent.clear();
  EXPECT_TRUE(new_job_puts(4));
}

TEST_F(Port, ConnectionsThatSayNothingEnd) {
  (void)Session::open(grant_).reach();
  auto const silent = strangers(300, "127.0.0.9");
  EXPECT_TRUE(eventually([&] {
    return std::all_of(silent.begin(), silent.end(), [](FileDescriptor const& each) {
      char byte = 0;
      ssize_t const got = ::recv(each.get(), &byte, 1, MSG_DONTWAIT);
      return got == 0 || (got < 0 && errno != EAGAIN);
    });
  }));
  EXPECT_TRUE(new_job_puts(1));
}

}  // namespace
}  // namespace mpixrma::nam
