/// Sessions of clients that have ended or are stopped: their locks and windows are released, and their late
/// requests are rejected.
#include <set>

#include "tests/nam/attacks/client_files.hpp"
#include "tests/nam/attacks/network.hpp"
#include "tests/nam/windows_of_server.hpp"

namespace mpixrma::nam {
namespace {

constexpr int lease_seconds = 3;

class Lease : public ::testing::Test {
 protected:
  void SetUp() override {
    server_.start({"--size", "64M", "--listen", "127.0.0.1:0", "--lease", std::to_string(lease_seconds)});
    grant_ = server_.grant(1u << 20);
    files_.emplace(server_);
    window_ = make_persistent(grant_, 100, 1);
  }

  /// Opens a session as from another host.
  Session remote() const {
    Locator there = grant_;
    there.address.unix_path.clear();
    return Session::open(there);
  }
  WindowInfo window_of(Session& session) const { return session.join(parse_locator(window_.port).window); }

  bool try_lock(Session& session) const {
    bool has_turn = false;
    return session.try_lock(window_of(session), 1, 0, engine::LockMode::exclusive, &has_turn);
  }

  TestServer server_;
  std::optional<ClientFiles> files_;
  Locator grant_;
  WindowInfo window_;
};

/// A process that runs the `body` of start(), which reports to this process by single characters.
struct Child {
  pid_t pid = -1;
  FileDescriptor reports;

  char next() const {
    char report = 0;
    return ::read(reports.get(), &report, 1) == 1 ? report : '\0';
  }
  int exit_code() const {
    int status = 0;
    ::waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  }
};

template <typename Body>
Child start(Body body) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return {};
  pid_t const pid = ::fork();
  if (pid == 0) {
    auto const report = [&](char what) { (void)!::write(ends[1], &what, 1); };
    int code = 2;
    try {
      code = body(report);
    } catch (std::exception const& error) {
      std::fprintf(stderr, "child: %s\n", error.what());
    }
    ::_exit(code);
  }
  ::close(ends[1]);
  return {pid, FileDescriptor(ends[0])};
}

TEST_F(Lease, EndsSessionsOfStoppedButNotOfBusyRemoteClients) {
  Child const busy = start([&](auto report) {
    Session session = remote();
    WindowInfo const window = window_of(session);
    report('r');
    std::this_thread::sleep_for(std::chrono::seconds(2 * lease_seconds));
    session.write(window, 1, 0, pattern(100, 9));
    return 0;
  });
  Child const stopped = start([&](auto report) {
    Session session = remote();
    WindowInfo const window = window_of(session);
    if (!try_lock(session)) return 3;
    report('l');
    ::raise(SIGSTOP);
    return refusal([&] { session.write(window, 0, 0, pattern(100, 7)); }) == ErrorCode::unavailable ? 0 : 4;
  });
  ASSERT_EQ(busy.next(), 'r');
  ASSERT_EQ(stopped.next(), 'l');
  int status = 0;
  ASSERT_EQ(::waitpid(stopped.pid, &status, WUNTRACED), stopped.pid);
  Session other = remote();
  EXPECT_TRUE(eventually([&] { return try_lock(other); }));
  ::kill(stopped.pid, SIGCONT);
  EXPECT_EQ(stopped.exit_code(), 0);
  EXPECT_EQ(content(other, window_of(other), 0), pattern(100, 1));
  EXPECT_EQ(busy.exit_code(), 0);
  EXPECT_EQ(content(other, window_of(other), 1), pattern(100, 9));
}

TEST_F(Lease, LocalSessionEndsWithItsProcessDespiteForkedChild) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  Child const holder = start([&](auto report) {
    Session session = Session::open(grant_);
    if (!try_lock(session)) return 3;
    report('l');
    if (::fork() == 0) {
      char ignored = 0;
      (void)!::read(ends[0], &ignored, 1);  // as long as the test runs
      ::_exit(0);
    }
    return 0;
  });
  ASSERT_EQ(holder.next(), 'l');
  EXPECT_EQ(holder.exit_code(), 0);
  Session other = Session::open(grant_);
  EXPECT_TRUE(eventually([&] { return try_lock(other); }));
  EXPECT_EQ(::write(ends[1], "e", 1), 1);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(Lease, MemoryOfAnEvictedWindowWaitsForProcessesThatMapIt) {
  Session mapped = Session::open(grant_);
  GrantMapping const memory = mapped.map();
  WindowInfo const window = window_of(mapped);
  server_.ask({{"op", "evict"}, {"port", window_.port}});
  Session other = Session::open(grant_);
  auto const takes_all = [&] { return !refusal([&] { other.release(other.allocate({1u << 20}, {1})); }); };
  EXPECT_TRUE(eventually([&] { return refusal([&] { window_of(other); }) == ErrorCode::not_found; }));
  EXPECT_FALSE(takes_all());
  EXPECT_EQ(refusal([&] { mapped.release(window); }), ErrorCode::not_found);
  EXPECT_TRUE(eventually(takes_all));
}

/// A user on the network opens many sessions of a window, which fall silent together. The owner of the grant
/// is served between their ends.
TEST_F(Network, SimultaneouslyExpiredSessionsEndInTurns) {
  constexpr std::size_t sessions = 60;
  start({"--lease", std::to_string(lease_seconds)});
  Locator const grant = server_.grant(64u << 20);
  WindowInfo const window = make_persistent(grant, 100, 1, {.mode = 0644});
  std::vector<Channel> silent;
  for (std::size_t i = 0; i < sessions; ++i)
    silent.push_back(session({{"op", "connect"}, {"port", window.port}}));
  Session owner = Session::open(grant);
  WindowInfo const joined = owner.join(parse_locator(window.port).window);
  // Each window adds to the time that the end of a session takes.
  auto const renew = [&] {
    for (Channel& each : silent) each.post({{"op", "renew"}, {"quiet", true}});
  };
  for (int i = 0; i < 4000; ++i) {
    if (i % 200 == 0) renew();  // on a busy machine, all allocations take longer than a lease
    (void)owner.allocate({64}, {1});
  }
  EXPECT_EQ(content(owner, joined, 0), pattern(100, 1));  // the first access takes long
  renew();
  auto const count_ended = [&] {
    return static_cast<std::size_t>(std::ranges::count_if(silent, [](Channel const& each) {
      pollfd entry{each.socket().get(), POLLIN, 0};
      return ::poll(&entry, 1, 0) == 1;  // the session's end, and before it the reason, can be read
    }));
  };
  std::set<std::size_t> ended;
  auto const latest = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (!ended.contains(sessions) && std::chrono::steady_clock::now() < latest) {
    EXPECT_EQ(content(owner, joined, 0), pattern(100, 1));
    ended.insert(count_ended());
  }
  EXPECT_TRUE(ended.contains(sessions));
  EXPECT_GE(ended.size(), 4u) << "answers to the owner between the ends of sessions";
}

}  // namespace
}  // namespace mpixrma::nam
