/// A memory server whose processes die, and one whose machine lacks resources.
#include <sys/ptrace.h>
#include <sys/resource.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "nam/protocol/socket.hpp"
#include "tests/nam/windows_of_server.hpp"

namespace mpixrma::nam {
namespace {

class StorageTest : public ::testing::TestWithParam<char const*> {
 protected:
  TestServer::Arguments arguments() const {
    return {"--size", "64M", "--listen", "none", "--storage", GetParam()};
  }
  bool is_file() const { return std::string(GetParam()) == "file"; }
};

INSTANTIATE_TEST_SUITE_P(Kinds, StorageTest, ::testing::Values("memory", "file"));

TEST_P(StorageTest, KilledDataProcessKeepsPersistentWindows) {
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

TEST_P(StorageTest, DataOfKilledDataProcessAreNotExposed) {
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

TEST_P(StorageTest, KilledControlProcessIsReplacedDuringSessions) {
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

TEST_P(StorageTest, FilesSurviveKillOfBothProcesses) {
  TestServer server;
  server.start(arguments());
  Locator const grant = server.grant(1u << 20);
  std::string const port =
      make_persistent(grant, 10000, 1, {.durability = is_file() ? Durability::storage : Durability::clients})
          .port;
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

TEST_P(StorageTest, OrderlyEndKeepsFiles) {
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

/// A data process that waits for a disk does not end when it is killed. In its place: one whose end is seen
/// by a tracer first.
TEST(Server, DataProcessThatDoesNotEndDelaysItsGrantOnly) {
  TestServer server;
  server.start();
  Locator const grant = server.grant(1u << 20);
  std::string const port = make_persistent(grant, 100, 1).port;
  pid_t const process = server.data_process(grant);
  if (::ptrace(PTRACE_SEIZE, process, nullptr, nullptr) != 0) GTEST_SKIP() << "needs ptrace()";
  ::kill(process, SIGKILL);
  EXPECT_TRUE(eventually([&] { return !server.show(grant).at("ready").get<bool>(); }));
  (void)make_persistent(server.grant(1u << 20), 100, 1);
  EXPECT_EQ(server.show(grant).at("state"), "preparing");
  EXPECT_EQ(::waitpid(process, nullptr, __WALL), process);
  EXPECT_TRUE(eventually([&] { return server.show(grant).at("ready").get<bool>(); }));
  expect_pattern(port, 100, 1);
}

/// A data process that has been killed is not there to write its windows to the storage file.
TEST_P(StorageTest, OrderlyEndDuringRestartKeepsFiles) {
  TestServer server;
  server.start(arguments());
  Locator const grant = server.grant(1u << 20);
  WindowInfo const window = make_persistent(grant, 10000, 1);
  Session session = Session::open(grant);
  session.write(window, 0, 0, pattern(10000, 5));
  session.write(window, 1, 0, pattern(10000, 6));
  pid_t const control = server.control_process();
  pid_t const process = server.data_process(grant);
  stop_process(control);
  ::kill(process, SIGKILL);
  EXPECT_TRUE(eventually([&] { return ::kill(process, 0) != 0; }));
  ::kill(control, SIGTERM);
  ::kill(control, SIGCONT);
  EXPECT_EQ(server.exit_code(10000), 0);
  server.start(arguments());
  if (is_file()) expect_pattern(window.port, 10000, 5);
  EXPECT_EQ(server.show(grant).at("persistent"), is_file() ? 1 : 0);
}

TEST(Server, DurabilityBeyondTheStorageIsRefused) {
  TestServer server;
  server.start();
  Session session = Session::open(server.grant(1u << 20));
  for (Durability const durability : {Durability::server, Durability::storage})
    EXPECT_EQ(refusal([&] { session.allocate({1}, {1}, {.persistent = true, .durability = durability}); }),
              ErrorCode::unsupported);
}

TEST(Server, FullDiskIsReportedBeforeMemoryIsGranted) {
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

TEST(Server, TruncatedFileFailsItsGrantOnly) {
  TestServer server;
  TestServer::Arguments const arguments{"--size", "64M", "--listen", "none", "--storage", "file"};
  server.start(arguments);
  Locator const cut = server.grant(1u << 20);
  Locator const whole = server.grant(1u << 20);
  (void)make_persistent(cut, 100, 1);
  std::string const port = make_persistent(whole, 100, 5).port;
  auto const cut_file_of = [&](Locator const& grant) {
    std::filesystem::resize_file(server.directory() / "state/memory" / (grant.grant + ".storage"), 4096);
  };
  server.stop();
  cut_file_of(cut);
  server.start(arguments);
  expect_pattern(port, 100, 5);
  EXPECT_EQ(refusal([&] { Session::open(cut); }), ErrorCode::unavailable);
  EXPECT_FALSE(server.show(cut).at("ready").get<bool>());
  // Now the server has the memory of the other grant, and no file to write it to.
  cut_file_of(whole);
  ::kill(server.data_process(whole), SIGKILL);
  EXPECT_TRUE(eventually([&] { return server.show(whole).at("state") == "not ready"; }));
  server.stop();
  std::ifstream log(server.directory() / "log");
  std::string const text{std::istreambuf_iterator<char>(log), {}};
  EXPECT_NE(text.find("grant " + whole.grant + " loses"), std::string::npos);
  EXPECT_EQ(text.find("grant " + cut.grant + " loses"), std::string::npos) << "it had nothing in memory";
}

TEST(Server, DamagedCatalogIsRefusedWithItsExitCode) {
  TestServer server;
  server.start();
  (void)make_persistent(server.grant(1u << 20), 100, 1);
  server.stop();
  std::ofstream(server.directory() / "state/catalog.sqlite", std::ios::in | std::ios::out)
      .write("nonsense nonsense", 17);
  server.spawn({"--size", "64M", "--listen", "none"});
  EXPECT_EQ(server.exit_code(10000), 4);
}

/// A control process may fail because the system lacks something for a time.
TEST(Server, RestartsControlProcessThatCannotReadItsFiles) {
  TestServer server;
  server.start();
  WindowInfo const window = make_persistent(server.grant(1u << 20), 100, 1);
  std::filesystem::path const key = server.state / "server.key";
  std::filesystem::path const aside = server.state / "aside";
  std::filesystem::rename(key, aside);
  std::ofstream(key) << "x\n";
  std::filesystem::permissions(key, std::filesystem::perms(0600));
  ::kill(server.control_process(), SIGKILL);
  EXPECT_EQ(server.exit_code(1000), std::nullopt);
  std::filesystem::rename(aside, key);
  EXPECT_TRUE(eventually([&] { return server.answers(); }));
  expect_pattern(window.port, 100, 1);
}

TEST(Server, EndsAtOnceWhenItCannotStart) {
  TestServer server;
  server.spawn({});
  EXPECT_EQ(server.exit_code(10000), 2);
  server.spawn({"--size", "many"});
  EXPECT_EQ(server.exit_code(10000), 2);
  server.spawn({"--size", "1M", "--listen", "127.0.0.1:99999"});
  EXPECT_EQ(server.exit_code(10000), 2);
  server.start();
  TestServer other;
  other.state = server.state;
  other.spawn({"--size", "1M", "--listen", "none"});
  EXPECT_EQ(other.exit_code(10000), 3);
}

TEST(Server, ReadsItsConfigurationAgain) {
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

/// MPIX_NAMD_CONFIG names a configuration file; --config takes precedence.
TEST(Server, ReadsConfigurationFromEnvironment) {
  TestServer server;
  auto const file = server.directory() / "namd.toml";
  auto const other = server.directory() / "other.toml";
  std::ofstream(file) << "size = \"8M\"\n";
  std::ofstream(other) << "size = \"4M\"\n";
  auto const start_with = [&](std::filesystem::path const& named, std::vector<std::string> const& arguments) {
    server.spawn(arguments, [&] { ::setenv("MPIX_NAMD_CONFIG", named.c_str(), 1); });
  };
  start_with(file, {"--listen", "none"});
  server.await();
  EXPECT_EQ(server.ask({{"op", "usage"}}).at("capacity"), 8u << 20);
  std::ofstream(file) << "size = \"16M\"\n";
  ::kill(server.pid(), SIGHUP);
  EXPECT_TRUE(eventually([&] { return server.ask({{"op", "usage"}}).at("capacity") == 16u << 20; }));
  server.stop();
  start_with(file, {"--config", other.string(), "--listen", "none"});
  server.await();
  EXPECT_EQ(server.ask({{"op", "usage"}}).at("capacity"), 4u << 20);
  server.stop();
  start_with(server.directory() / "missing.toml", {"--size", "8M", "--listen", "none"});
  EXPECT_EQ(server.exit_code(10000), 2) << "a file that is named and missing";
}

TEST(Server, RefusesUnknownOptionsOfItsConfiguration) {
  TestServer server;
  auto const file = server.directory() / "namd.toml";
  std::ofstream(file) << "size = \"8M\"\nencrpyt = true\n";
  server.spawn({"--config", file.string(), "--listen", "none"});
  EXPECT_EQ(server.exit_code(10000), 2);
}

/// The service manager keeps the socket and its path. The server opens the sockets of other kinds itself.
TEST(Server, AcceptsSocketsOfServiceManager) {
  TestServer server;
  std::string const path = server.address().unix_path;
  FileDescriptor const listener = listen_unix(path, 0600);
  for (int round = 0; round < 2; ++round) {
    server.spawn({"--size", "8M", "--listen", "127.0.0.1:0"}, [&] {
      if (listener.get() == 3) {
        (void)::fcntl(3, F_SETFD, 0);
      } else {
        ::dup2(listener.get(), 3);
      }
      ::setenv("LISTEN_PID", std::to_string(::getpid()).c_str(), 1);
      ::setenv("LISTEN_FDS", "1", 1);
      (void)::fcntl(3, F_SETFL, 0);
    });
    EXPECT_TRUE(eventually([&] { return server.answers(); }));
    EXPECT_NE(server.grant(4096).address.port, 0);
    server.stop();
    EXPECT_TRUE(std::filesystem::exists(path));
  }
  TestServer other;
  other.start();
  other.stop();
  EXPECT_FALSE(std::filesystem::exists(other.address().unix_path)) << "its own socket";
}

}  // namespace
}  // namespace mpixrma::nam
