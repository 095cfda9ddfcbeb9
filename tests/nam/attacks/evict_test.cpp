/// Evicting windows that processes map: the tool waits for these processes, or ends them.
#include <csignal>
#include <future>
#include <optional>

#include "nam/server/catalog.hpp"
#include "tests/nam/attacks/tool.hpp"
#include "tests/nam/attacks/users.hpp"
#include "tests/nam/windows_of_server.hpp"

namespace mpixrma::nam {
namespace {

constexpr uid_t slurm = 64002;  ///< an administrator who is not root

/// A process of a user that maps a window until end() is called.
class Mapper {
 public:
  using OnTerm = void (*)(int);

  Mapper(uid_t uid, std::string const& port, OnTerm on_term = SIG_DFL) {
    int ends[2] = {-1, -1};
    int ready[2] = {-1, -1};
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    EXPECT_EQ(::pipe2(ready, O_CLOEXEC), 0);
    pid = ::fork();
    if (pid == 0) {
      ::close(ends[1]);
      ::signal(SIGTERM, on_term);
      bool const changed = uid == ::geteuid() || (::setgid(uid) == 0 && ::setuid(uid) == 0);
      if (!changed) ::_exit(1);
      WindowInfo window;
      Session session = Session::connect(port, &window);
      GrantMapping const memory = session.map();
      memory.at(window.regions[0])[0] = std::byte{1};
      (void)!::write(ready[1], "r", 1);
      char ignored = 0;
      (void)!::read(ends[0], &ignored, 1);
      ::_exit(0);
    }
    ::close(ends[0]);
    ::close(ready[1]);
    life_ = FileDescriptor(ends[1]);
    FileDescriptor const is_ready(ready[0]);
    char ignored = 0;
    EXPECT_EQ(::read(is_ready.get(), &ignored, 1), 1);
  }
  ~Mapper() {
    if (pid > 0) (void)end();
  }
  Mapper(Mapper const&) = delete;
  Mapper& operator=(Mapper const&) = delete;

  /// Waits for the process to end. Returns its status as from waitpid().
  int await() {
    int status = 0;
    EXPECT_EQ(::waitpid(pid, &status, 0), pid);
    pid = -1;
    return status;
  }
  int end() {
    life_ = FileDescriptor();
    return await();
  }
  bool runs() const { return ::waitpid(pid, nullptr, WNOHANG) == 0; }

  pid_t pid = -1;

 private:
  FileDescriptor life_;
};

class Evict : public ::testing::Test {
 protected:
  void SetUp() override {
    server_.start({"--size", "64M", "--listen", "none", "--admins", std::to_string(slurm)});
    server_.admit_all_users();
    user_ = is_root() ? owner : ::geteuid();
    grant_ = server_.grant(1u << 20, {{"owner", std::to_string(user_)}});
    port_ = make_persistent(grant_, 100, 1).port;
  }
  std::string command(std::string const& options) const { return "evict " + options + " '" + port_ + "'"; }
  bool is_listed() const { return !server_.show(grant_).at("window_list").empty(); }
  /// Whether all memory of the grant can be allocated.
  bool is_free() const {
    Session session = Session::open(grant_);
    return !refusal([&] { session.release(session.allocate({1u << 20}, {1})); });
  }

  TestServer server_;
  uid_t user_ = 0;
  Locator grant_;
  std::string port_;
};

TEST_F(Evict, WaitsForProcessesThatMapTheWindow) {
  Mapper mapper(user_, port_);
  auto run = std::async(std::launch::async, [&] { return run_tool(server_, command("")); });
  EXPECT_TRUE(eventually([&] { return !is_listed(); }));
  EXPECT_FALSE(is_free());
  EXPECT_EQ(run.wait_for(std::chrono::milliseconds(500)), std::future_status::timeout);
  std::string const pid = std::to_string(mapper.pid);
  EXPECT_EQ(mapper.end(), 0);
  ToolRun const done = run.get();
  EXPECT_EQ(done.exit_code, 0);
  EXPECT_NE(done.output.find(pid + " ("), std::string::npos) << done.output;
  EXPECT_TRUE(is_free());
}

TEST_F(Evict, DoesNotWaitOnRequestOrWithoutMappings) {
  EXPECT_EQ(run_tool(server_, command("")).output, "");
  EXPECT_TRUE(is_free());
  port_ = make_persistent(grant_, 100, 1).port;
  Mapper const mapper(user_, port_);
  EXPECT_EQ(run_tool(server_, command("--no-wait")).exit_code, 0);
  EXPECT_FALSE(is_listed());
  EXPECT_TRUE(mapper.runs());
  EXPECT_FALSE(is_free());
}

TEST_F(Evict, EndsProcessesBySigtermThenSigkill) {
  Mapper polite(user_, port_, [](int) { ::_exit(7); });
  Mapper stubborn(user_, port_, SIG_IGN);
  ToolRun const done = run_tool(server_, command("--end-processes --grace 1s"));
  EXPECT_EQ(done.exit_code, 0) << done.output;
  int const status = polite.await();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
  EXPECT_EQ(stubborn.await(), SIGKILL);
  EXPECT_TRUE(is_free());
}

TEST_F(Evict, DryRunListsProcessesWithoutEndingThem) {
  Mapper const mapper(user_, port_);
  ToolRun const done = run_tool(server_, command("--dry-run --end-processes"));
  EXPECT_EQ(done.exit_code, 0);
  EXPECT_NE(done.output.find("would end processes " + std::to_string(mapper.pid) + " ("), std::string::npos)
      << done.output;
  EXPECT_TRUE(mapper.runs());
  EXPECT_TRUE(is_listed());
}

/// The tool, not a process of the server, sends the signals.
TEST_F(Evict, EndsNoProcessThatItsUserMayNotSignal) {
  if (!is_root()) GTEST_SKIP() << "needs other users";
  Mapper const mapper(user_, port_);
  EXPECT_TRUE(as_user(slurm, [&] {
    ToolRun const done = run_tool(server_, command("--end-processes"));
    return done.exit_code == 7 && done.output.find("cannot end process") != std::string::npos;
  }));
  EXPECT_TRUE(mapper.runs());
  EXPECT_FALSE(is_listed());
}

/// The tool gets the process ids from a data process, which could name any process.
TEST_F(Evict, EndsProcessesOfTheOwnerAlone) {
  if (!is_root()) GTEST_SKIP() << "needs other users";
  Mapper const administrators(0, port_);
  Mapper owners(user_, port_);
  ToolRun const done = run_tool(server_, command("--end-processes --grace 1s"));
  EXPECT_EQ(done.exit_code, 7) << done.output;
  EXPECT_NE(done.output.find("is not one of the grant's owner"), std::string::npos) << done.output;
  EXPECT_EQ(owners.await(), SIGTERM);
  EXPECT_TRUE(administrators.runs());
}

/// Users of a window who do not own its grant cannot list processes.
TEST_F(Evict, OnlyTheOwnerListsProcesses) {
  if (!is_root()) GTEST_SKIP() << "needs other users";
  server_.ask({{"op", "chmod"}, {"port", port_}, {"mode", 0666}});
  EXPECT_TRUE(as_user(another, [&] {
    Client client(server_.address());
    (void)client.request({{"op", "connect"}, {"port", port_}});
    return refusal([&] {
             client.request({{"op", "processes"}, {"window", parse_locator(port_).window}});
           }) == ErrorCode::denied;
  }));
}

/// A session may map the memory after it has opened the window.
TEST_F(Evict, CountsSessionsThatMapAfterOpeningTheWindow) {
  Session session = Session::open(grant_);
  WindowInfo const window = session.allocate({100}, {1}, {.persistent = true});
  GrantMapping const memory = session.map();
  server_.ask({{"op", "evict"}, {"port", window.port}});
  server_.ask({{"op", "evict"}, {"port", port_}});
  EXPECT_TRUE(eventually([&] { return !is_listed(); }));
  EXPECT_FALSE(is_free());
  WindowInfo other;
  other.id = parse_locator(port_).window;
  for (WindowInfo const& each : {window, other})
    EXPECT_EQ(refusal([&] { session.release(each); }), ErrorCode::not_found);
  EXPECT_TRUE(eventually([&] { return is_free(); }));
}

/// MPI programs open a window by one session, which ends, and map the grant by another one.
TEST_F(Evict, CountsSessionsThatMapWithoutOpeningTheWindow) {
  WindowInfo window;
  { Session const opened = Session::connect(port_, &window); }
  std::optional<Session> session = Session::open(grant_);
  GrantMapping const memory = session->map();
  ToolRun const dry = run_tool(server_, command("--dry-run"));
  EXPECT_NE(dry.output.find(std::to_string(::getpid()) + " ("), std::string::npos) << dry.output;
  EXPECT_EQ(run_tool(server_, command("--no-wait")).exit_code, 0);
  memory.at(window.regions[0])[0] = std::byte{1};
  EXPECT_TRUE(eventually([&] { return !is_listed(); }));
  EXPECT_FALSE(is_free());
  session.reset();
  EXPECT_TRUE(eventually([&] { return is_free(); }));
}

/// A session that has released a persistent window does not use it any more, even if the process goes on.
TEST_F(Evict, DoesNotCountSessionsThatHaveReleasedTheWindow) {
  WindowInfo window;
  Session session = Session::connect(port_, &window);
  GrantMapping const memory = session.map();
  session.release(window);
  ToolRun const done = run_tool(server_, command(""));
  EXPECT_EQ(done.exit_code, 0);
  EXPECT_EQ(done.output, "");
  EXPECT_TRUE(eventually([&] { return is_free(); }));
}

TEST_F(Evict, ChecksItsArgumentsFirst) {
  EXPECT_EQ(run_tool(server_, command("--grace zz")).exit_code, 2);
  EXPECT_TRUE(is_listed());
}

/// The control process dies after it has removed the window from the catalog.
TEST(EvictedMemory, StaysReservedIfTheControlProcessDies) {
  TestServer server;
  server.start();
  Locator const grant = server.grant(1u << 20);
  WindowInfo const window = make_persistent(grant, 100000, 1);
  auto const shown = [&](char const* value) { return server.show(grant).at(value).get<std::uint64_t>(); };
  pid_t const control = server.control_process();
  {
    Mapper mapper(::geteuid(), window.port);
    stop_process(server.pid());
    ::kill(control, SIGKILL);
    Catalog(server.state / "catalog.sqlite").remove_window(parse_locator(window.port).window);
    ::kill(server.pid(), SIGCONT);
    EXPECT_TRUE(eventually([&] { return server.answers() && server.control_process() != control; }));
    EXPECT_TRUE(eventually([&] { return shown("windows") == 0; }));
    EXPECT_GE(shown("used"), 200000u);
  }
  EXPECT_TRUE(eventually([&] { return shown("used") == 0; }));
}

/// The owner of a grant cannot make the server keep any number of evicted windows in its lists.
TEST(EvictedMemory, CountsAsWindowUntilItIsFree) {
  TestServer server;
  server.start({"--size", "64M", "--listen", "none", "--max-windows", "3"});
  Locator const grant = server.grant(1u << 20);
  auto const make = [&] { return make_persistent(grant, 100, 1).port; };
  {
    Mapper const mapper(::geteuid(), make());
    for (int i = 0; i < 2; ++i) server.ask({{"op", "evict"}, {"port", make()}});
    EXPECT_EQ(refusal([&] { make(); }), ErrorCode::quota);
  }
  EXPECT_TRUE(eventually([&] { return !refusal([&] { make(); }); }));
}

/// Another process maps the grant when the data process dies. The next data process does not know it.
class EvictedMemoryAtDeath : public ::testing::Test {
 protected:
  EvictedMemoryAtDeath() {
    server_.start();
    grant_ = server_.grant(1u << 20);
    window_ = make_persistent(grant_, 100000, 1);
    mapper_.emplace(::geteuid(), window_.port);
  }
  void evict() { server_.ask({{"op", "evict"}, {"port", window_.port}}); }
  std::uint64_t shown(char const* value) { return server_.show(grant_).at(value).get<std::uint64_t>(); }
  void kill_data_process() {
    pid_t const process = server_.data_process(grant_);
    ::kill(process, SIGKILL);
    EXPECT_TRUE(eventually([&] { return server_.data_process(grant_) != process; }));
    Session const waits_until_it_is_ready = Session::open(grant_);
  }
  void kill_control_process() {
    pid_t const control = server_.control_process();
    ::kill(control, SIGKILL);
    EXPECT_TRUE(eventually([&] { return server_.answers() && server_.control_process() != control; }));
  }
  /// Also that the memory is given back when no process maps it any more.
  void expect_reserved() {
    std::uint64_t const offset = window_.regions[0].offset;
    {
      Session session = Session::open(grant_);
      // As many as there is room for.
      refusal([&] {
        for (;;) {
          WindowInfo const next = session.allocate({90000}, {1});
          EXPECT_TRUE(next.regions[0].offset + 90000 <= offset || next.regions[0].offset >= offset + 200000);
        }
      });
      EXPECT_GE(shown("used"), 200000u);
    }
    mapper_.reset();
    EXPECT_TRUE(eventually([&] { return shown("used") == 0; }));
  }

  TestServer server_;
  Locator grant_;
  WindowInfo window_;
  std::optional<Mapper> mapper_;
};

TEST_F(EvictedMemoryAtDeath, StaysReservedIfEvictedBefore) {
  evict();
  EXPECT_TRUE(eventually([&] { return shown("windows") == 0; }));
  kill_data_process();
  expect_reserved();
}

TEST_F(EvictedMemoryAtDeath, StaysReservedIfTheDataProcessDiesBeforeItKnows) {
  stop_process(server_.data_process(grant_));
  evict();
  kill_data_process();
  expect_reserved();
}

TEST_F(EvictedMemoryAtDeath, StaysReservedIfEvictedAfterwards) {
  kill_data_process();
  evict();
  EXPECT_TRUE(eventually([&] { return shown("windows") == 0; }));
  expect_reserved();
}

TEST_F(EvictedMemoryAtDeath, StaysReservedIfBothProcessesDie) {
  evict();
  EXPECT_TRUE(eventually([&] { return shown("windows") == 0; }));
  pid_t const control = server_.control_process();
  pid_t const process = server_.data_process(grant_);
  stop_process(server_.pid());
  for (pid_t const each : {control, process}) ::kill(each, SIGKILL);
  ::kill(server_.pid(), SIGCONT);
  EXPECT_TRUE(eventually([&] { return server_.answers() && server_.control_process() != control; }));
  EXPECT_NE(server_.data_process(grant_), process);
  expect_reserved();
}

TEST_F(EvictedMemoryAtDeath, IsGivenBackUnderAnotherControlProcess) {
  evict();
  EXPECT_TRUE(eventually([&] { return shown("windows") == 0; }));
  kill_data_process();
  kill_control_process();
  expect_reserved();
}

}  // namespace
}  // namespace mpixrma::nam
