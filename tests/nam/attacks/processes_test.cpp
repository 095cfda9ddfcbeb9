/// Processes of the memory server: their users and rights, and the data that survive when they are killed.
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <thread>

#include "nam/process/sandbox.hpp"
#include "tests/nam/attacks/server_resources.hpp"
#include "tests/nam/attacks/users.hpp"
#include "tests/nam/windows_of_server.hpp"

namespace mpixrma::nam {
namespace {

namespace fs = std::filesystem;

constexpr uid_t first_data_user = 1879050000;
constexpr std::uint64_t data_users = 10000;

void expect_confined(pid_t pid) {
  ProcessStatus const status = status_of(pid);
  for (char const* const set : {"CapInh:", "CapPrm:", "CapEff:", "CapAmb:"})
    EXPECT_EQ(status.at(set), "0000000000000000") << set;
  EXPECT_EQ(status.at("NoNewPrivs:"), "1");
  EXPECT_EQ(status.at("Seccomp:"), "2");
}

class Processes : public ::testing::Test {
 protected:
  void start(TestServer::Arguments arguments = TestServer::defaults()) {
    server.start(std::move(arguments));
    server.admit_all_users();
  }
  void end(pid_t process) const {
    ::kill(process, SIGKILL);
    EXPECT_TRUE(eventually([&] { return ::kill(process, 0) != 0; }));
  }
  /// Whether a new control process has replaced `before`.
  bool has_new_control_process(pid_t before) const {
    return eventually([&] { return server.answers() && server.control_process() != before; });
  }

  TestServer server;
};

TEST_F(Processes, EachDataProcessHasAUserOfItsOwn) {
  if (!is_root()) GTEST_SKIP() << "needs other users";
  if (!has_users(first_data_user, data_users)) GTEST_SKIP() << "the user namespace has no data users";
  start();
  std::set<uid_t> users;
  for (int i = 0; i < 3; ++i) {
    Locator const grant = server.grant(1u << 20, {{"owner", std::to_string(owner)}});
    (void)make_persistent(grant, 100, 1);
    pid_t const process = server.data_process(grant);
    uid_t const user = user_of(process);
    EXPECT_TRUE(user >= first_data_user && user < first_data_user + data_users) << user;
    EXPECT_TRUE(users.insert(user).second);
    expect_confined(process);
    EXPECT_TRUE(as_user(owner, [&] { return ::kill(process, SIGKILL) != 0 && errno == EPERM; }));
  }
}

/// The processes of a server that an ordinary user has started run as this user, but the user's other
/// processes cannot read the memory of the server's processes.
TEST_F(Processes, OfOrdinaryUserAreNotReadableByOtherProcesses) {
  if (!is_root()) GTEST_SKIP() << "needs other users";
  if (!as_user(nobody, [] { return ::access(MPIX_NAMD, X_OK) == 0; }))
    GTEST_SKIP() << "other users cannot start " MPIX_NAMD;
  ASSERT_EQ(::chown(server.directory().c_str(), nobody, nobody), 0);
  server.spawn(TestServer::defaults(), [] { (void)!(::setgid(nobody) == 0 && ::setuid(nobody) == 0); });
  EXPECT_TRUE(as_user(nobody, [&] {
    if (!eventually([&] { return server.answers(); })) return false;
    Locator const grant = server.grant(1u << 20);
    bool good = true;
    for (pid_t const process : {server.control_process(), server.data_process(grant)}) {
      std::string const memory = "/proc/" + std::to_string(process) + "/mem";
      struct stat status {};
      bool const is_roots = ::stat(memory.c_str(), &status) == 0 && status.st_uid == 0;
      bool const is_refused = ::open(memory.c_str(), O_RDONLY) < 0 && errno == EACCES;
      good = good && user_of(process) == nobody && is_roots && is_refused;
    }
    return good;
  }));
}

TEST_F(Processes, OnlyTheMainProcessMayChangeUsers) {
  if (!is_root()) GTEST_SKIP() << "needs root";
  start();
  auto const may_change_users = [](pid_t pid) {
    std::uint64_t const set = std::stoull(status_of(pid).at("CapPrm:"), nullptr, 16);
    return (set & (1u << CAP_SETUID | 1u << CAP_SETGID)) != 0;
  };
  EXPECT_TRUE(may_change_users(server.pid()));
  EXPECT_FALSE(may_change_users(server.control_process()));
  std::uint64_t const all = 1u << CAP_SETUID | 1u << CAP_SETGID | 1u << CAP_KILL;
  EXPECT_EQ(std::stoull(status_of(server.pid()).at("CapPrm:"), nullptr, 16) & ~all, 0u);
}

TEST_F(Processes, ControlProcessOfAnotherUserHasNoCapabilities) {
  if (!is_root()) GTEST_SKIP() << "needs other users";
  ASSERT_EQ(::chown(server.directory().c_str(), nobody, nobody), 0);
  server.start({"--size", "64M", "--listen", "none", "--user", std::to_string(nobody)});
  pid_t const control = server.control_process();
  EXPECT_EQ(user_of(control), nobody);
  EXPECT_EQ(status_of(control).at("CapPrm:"), "0000000000000000");
  Locator const grant = server.grant(1u << 20);
  expect_pattern(make_persistent(grant, 100, 1).port, 100, 1);
  EXPECT_NE(user_of(server.data_process(grant)), nobody);
}

/// The control process has no right to signal a data process, and the main process is not the parent of this
/// data process.
TEST_F(Processes, StoppedDataProcessOfAnEarlierServerIsEnded) {
  if (!is_root()) GTEST_SKIP() << "needs other users";
  TestServer::Arguments const arguments{"--size", "64M",    "--listen",
                                        "none",   "--user", std::to_string(nobody)};
  ASSERT_EQ(::chown(server.directory().c_str(), nobody, nobody), 0);
  server.start(arguments);
  Locator const grant = server.grant(1u << 20);
  pid_t const process = server.data_process(grant);
  server.kill();
  server.start(arguments);
  EXPECT_TRUE(eventually([&] { return server.show(grant).at("ready").get<bool>(); }));
  ASSERT_EQ(server.data_process(grant), process);
  stop_process(process);
  std::thread revoking([&] { server.ask({{"op", "revoke"}, {"grant", grant.grant}}); });
  bool const has_ended = eventually([&] { return ::kill(process, 0) != 0; });
  EXPECT_TRUE(has_ended);
  if (!has_ended) ::kill(process, SIGKILL);
  revoking.join();
}

TEST_F(Processes, ControlProcessOfRootCannotSignalOtherUsers) {
  if (!is_root()) GTEST_SKIP() << "needs root";
  start();
  std::uint64_t const set = std::stoull(status_of(server.control_process()).at("CapPrm:"), nullptr, 16);
  EXPECT_EQ(set & 1u << CAP_KILL, 0u);
}

/// Every user of the host can list processes with their arguments.
TEST_F(Processes, ArgumentsNameNoGrant) {
  start();
  Locator const grant = server.grant(1u << 20);
  for (pid_t const process : {server.pid(), server.control_process(), server.data_process(grant)}) {
    std::ifstream file("/proc/" + std::to_string(process) + "/cmdline");
    std::string const text{std::istreambuf_iterator<char>(file), {}};
    EXPECT_NE(text, "");
    EXPECT_EQ(text.find(grant.grant), std::string::npos) << text;
  }
}

TEST_F(Processes, LogIsNotReadableByAll) {
  mode_t const before = ::umask(0);
  start();
  ::umask(before);
  struct stat status {};
  ASSERT_EQ(::stat((server.directory() / "log").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0640u);
}

TEST_F(Processes, WithoutDataUsersAllRunAsTheServer) {
  start({"--size", "64M", "--listen", "none", "--data-uids", "none"});
  Locator const grant = server.grant(1u << 20);
  expect_pattern(make_persistent(grant, 100, 1).port, 100, 1);
  EXPECT_EQ(user_of(server.data_process(grant)), ::geteuid());
  expect_confined(server.data_process(grant));
}

TEST_F(Processes, KilledControlProcessIsStartedAgain) {
  start({"--size", "64M", "--listen", "127.0.0.1:0"});
  Locator const grant = server.grant(1u << 20);
  std::string const port = make_persistent(grant, 10000, 1).port;
  Session session = Session::open(grant);
  WindowInfo const window = session.allocate({100}, {1});
  pid_t const control = server.control_process();
  pid_t const process = server.data_process(grant);
  end(control);
  session.write(window, 0, 0, pattern(100, 3));
  ASSERT_TRUE(has_new_control_process(control));
  EXPECT_EQ(content(session, window, 0), pattern(100, 3));
  expect_pattern(port, 10000, 1);
  EXPECT_EQ(server.data_process(grant), process);
  // Locators stay valid: the sockets are those of the main process.
  EXPECT_EQ(parse_locator(server.show(grant).at("locator").get<std::string>()).address.port,
            grant.address.port);
}

/// The main process needs descriptors for the new process, and has none for a time.
TEST_F(Processes, StartOfTheControlProcessIsRepeatedUntilItSucceeds) {
  start();
  Locator const grant = server.grant(1u << 20);
  std::string const port = make_persistent(grant, 10000, 1).port;
  pid_t const control = server.control_process();
  rlimit limit{};
  ASSERT_EQ(::prlimit(server.pid(), RLIMIT_NOFILE, nullptr, &limit), 0);
  rlimit const none{1, limit.rlim_max};
  ASSERT_EQ(::prlimit(server.pid(), RLIMIT_NOFILE, &none, nullptr), 0);
  end(control);
  std::this_thread::sleep_for(std::chrono::seconds(1));  // several attempts
  ASSERT_EQ(::prlimit(server.pid(), RLIMIT_NOFILE, &limit, nullptr), 0);
  ASSERT_TRUE(has_new_control_process(control));
  expect_pattern(port, 10000, 1);
}

TEST_F(Processes, MemoryOutlivesControlAndDataProcess) {
  start();
  Locator const grant = server.grant(1u << 20);
  std::string const port = make_persistent(grant, 10000, 1).port;
  pid_t const control = server.control_process();
  end(server.data_process(grant));
  end(control);
  ASSERT_TRUE(has_new_control_process(control));
  expect_pattern(port, 10000, 1);
}

TEST_F(Processes, ControlProcessEndsWithTheMainProcess) {
  start();
  Locator const grant = server.grant(1u << 20);
  std::string const port = make_persistent(grant, 10000, 1).port;
  pid_t const control = server.control_process();
  pid_t const process = server.data_process(grant);
  server.kill();
  EXPECT_TRUE(eventually([&] { return ::kill(control, 0) != 0; }));
  server.start();
  expect_pattern(port, 10000, 1);
  EXPECT_EQ(server.data_process(grant), process);
}

/// Confines the calling process, a child, for the rest of its life.
bool refuses_unneeded_system_calls() {
  drop_privileges();
  confine_data_process(DataProcessUser::of_server);
  char* const arguments[] = {nullptr};
  int failures = 0;
  auto const expect = [&](bool good, char const* call) {
    if (good) return;
    std::fprintf(stderr, "%s: %s\n", call, std::strerror(errno));
    ++failures;
  };
  // If /bin/false ran, this process would end with its exit code, a failure.
  expect(::execve("/bin/false", arguments, arguments) != 0 && errno == EPERM, "execve");
  expect(::fork() < 0 && errno == EPERM, "fork");
  expect(::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0 && errno == EPERM, "ptrace");
  expect(::kill(::getppid(), SIGCONT) != 0 && errno == EPERM, "kill");
  expect(::kill(::getpid(), 0) == 0, "kill with signal 0");
  expect(::socket(AF_PACKET, SOCK_RAW, 0) < 0 && errno == EAFNOSUPPORT, "socket");
  expect(::setuid(0) != 0 && errno == EPERM, "setuid");
  bool ran = false;
  std::thread([&] { ran = true; }).join();
  expect(ran, "thread");
  return failures == 0;
}

/// Returns the status of a child that runs `body`, which confines the child to the sandbox.
template <typename Body>
int run_in_child(Body body) {
  pid_t const child = ::fork();
  if (child == 0) {
    bool good = false;
    try {
      good = body();
    } catch (std::exception const& error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
    ::_exit(good ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

TEST(Sandbox, RefusesUnneededSystemCalls) { EXPECT_EQ(run_in_child(refuses_unneeded_system_calls), 0); }

/// A system call that is in no list, like a call of a newer kernel.
TEST(Sandbox, UnknownCallsAreAbsentOrEndTheProcess) {
  auto const call = [] {
    drop_privileges();
    confine_data_process(DataProcessUser::of_server);
    return ::syscall(SYS_sync) != 0 && errno == ENOSYS;
  };
  EXPECT_EQ(run_in_child(call), 0);
  EXPECT_EQ(run_in_child([&] { return ::setenv("MPIX_NAMD_UNKNOWN_CALLS", "kill", 1) == 0 && call(); }),
            SIGSYS);
  EXPECT_EQ(run_in_child([&] {
              ::setenv("MPIX_NAMD_UNKNOWN_CALLS", "perhaps", 1);
              return refusal(call) == ErrorCode::bad_request;
            }),
            0);
}

}  // namespace
}  // namespace mpixrma::nam
