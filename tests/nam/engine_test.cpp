/// Windows of a memory server through an engine, as used by clients that cannot map the memory.
#include <sys/wait.h>

#include <array>
#include <atomic>
#include <cstring>
#include <numeric>
#include <thread>

#include "tests/nam/job_engine.hpp"
#include "tests/nam/windows_of_server.hpp"

namespace mpixrma::nam {
namespace {

struct Place {
  std::string name;
  std::string storage = "memory";
  std::string policy = "never";  ///< --rdma
  Rdma job = Rdma::never;
  bool encrypt = false;

  friend void PrintTo(Place const& place, std::ostream* out) { *out << place.name; }
};

class EngineTest : public ::testing::TestWithParam<Place> {
 protected:
  void SetUp() override {
    TestServer::Arguments arguments{"--size", "64M",       "--listen",         "none",   "--interfaces",
                                    "lo",     "--storage", GetParam().storage, "--rdma", GetParam().policy};
    if (GetParam().encrypt) arguments.emplace_back("--encrypt");
    server_.start(arguments);
    grant_ = server_.grant(8u << 20);
    session_.emplace(Session::open(grant_));
    address_ = session_->engine_address();
    EXPECT_EQ(is_encrypted(address_), GetParam().encrypt);
  }
  static bool has_keys() { return GetParam().policy == "emulated" && GetParam().job == Rdma::emulated; }

  TestServer server_;
  Locator grant_;
  std::optional<Session> session_;
  std::vector<std::byte> address_;
};

INSTANTIATE_TEST_SUITE_P(Places, EngineTest,
                         ::testing::Values(Place{"memory"}, Place{"file", "file"},
                                           Place{"rdma", "memory", "emulated", Rdma::emulated},
                                           Place{"file_rdma", "file", "emulated", Rdma::emulated},
                                           Place{"server_without_rdma", "memory", "never", Rdma::emulated},
                                           Place{"job_without_rdma", "memory", "emulated", Rdma::never},
                                           Place{"encrypted", "memory", "never", Rdma::emulated, true}),
                         [](auto const& place) { return place.param.name; });

/// Late messages of an ended session, on its connection and on a new one, change nothing; other sessions
/// continue.
TEST_P(EngineTest, MessagesOfEndedSessionHaveNoEffect) {
  Session other = Session::open(grant_);
  std::vector<std::byte> const other_address = other.engine_address();
  EXPECT_NE(address_, other_address) << "each session has its own";
  WindowInfo const window = other.allocate({4096}, {1});
  std::vector<std::byte> const before = pattern(4096, 1);
  JobEngine ended(GetParam().job);
  JobEngine lasting(GetParam().job);
  ended.connect(address_);
  lasting.connect(other_address);
  EXPECT_EQ(ended.put(window.exposure, 0, before), 0);
  session_.reset();
  ASSERT_TRUE(eventually([&] { return other.usage().at("sessions") == 1; }));
  if (!has_keys()) {
    EXPECT_NE(ended.put_within(2000, window.exposure, 0, pattern(4096, 2)), 0);
    if (GetParam().job == Rdma::never) {  // with RDMA the call would wait for an answer that never comes
      JobEngine late;
      late.connect(address_);
      EXPECT_NE(late.put_within(300, window.exposure, 0, pattern(4096, 3)), 0);
    }
    EXPECT_EQ(content(other, window, 0), before);
  }
  EXPECT_EQ(lasting.put(window.exposure, 0, pattern(4096, 4)), 0);
  EXPECT_EQ(content(other, window, 0), pattern(4096, 4));
}

TEST_P(EngineTest, PutAndGetAreConfinedToTheWindow) {
  WindowInfo const before = session_->allocate({4096}, {1});
  WindowInfo const window = session_->allocate({100000, 0, 8000}, {1, 1, 8});
  std::uint64_t const last = window.regions[2].offset - window.regions[0].offset;
  JobEngine job(GetParam().job);
  job.connect(address_);
  if (has_keys()) job.await_key(window.exposure);
  std::uint64_t const accesses = job.remote_accesses();
  auto const values = pattern(8000, 3);
  EXPECT_EQ(job.put(window.exposure, last, values), MPIX_ENGINE_OK);
  EXPECT_EQ(content(*session_, window, 2), values);
  session_->write(window, 0, 0, pattern(100000, 9));
  std::vector<std::byte> found(100000);
  EXPECT_EQ(job.get(window.exposure, 0, found), MPIX_ENGINE_OK);
  EXPECT_EQ(found, pattern(100000, 9));
  EXPECT_EQ(job.put(window.exposure, last + 8, values), MPIX_ENGINE_OUT_OF_BOUNDS);
  EXPECT_EQ(job.put(window.exposure, UINT64_MAX - 7, std::span(values).first(8)), MPIX_ENGINE_OUT_OF_BOUNDS);
  EXPECT_EQ(job.put(window.exposure + 1, 0, values), MPIX_ENGINE_STALE_EXPOSURE);
  EXPECT_EQ(content(*session_, before, 0), std::vector<std::byte>(4096));
  EXPECT_EQ(content(*session_, window, 2), values);
  EXPECT_EQ(job.remote_accesses() - accesses, has_keys() ? 2u : 0u);
}

/// The remote key becomes invalid with the end of a session; the other sessions, which shared the key, get a
/// new one and continue.
TEST_P(EngineTest, KeysEndWithTheSession) {
  if (!has_keys()) GTEST_SKIP() << "without keys";
  Session other = Session::open(grant_);
  std::vector<std::byte> const other_address = other.engine_address();
  WindowInfo const window = other.allocate({4096}, {1});
  JobEngine lasting(GetParam().job);
  lasting.connect(other_address);
  for (std::uint64_t round = 0; round < 3; ++round) {
    std::optional<JobEngine> ended(std::in_place, GetParam().job);
    ended->connect(address_);
    ended->await_key(window.exposure);
    EXPECT_EQ(ended->put(window.exposure, 0, pattern(4096, 1)), 0);
    lasting.await_key(window.exposure);
    EXPECT_EQ(lasting.put(window.exposure, 0, pattern(4096, 2)), 0);
    std::uint64_t const before = lasting.key_number();
    EXPECT_EQ(ended->key_number(), before);
    if (round == 2) ended.reset();  // the connection ends before the session does
    session_.reset();
    EXPECT_TRUE(eventually([&] {
      EXPECT_EQ(lasting.put(window.exposure, 0, pattern(4096, 3)), 0);
      std::uint64_t const now = lasting.key_number();
      return now != before && now != 0;
    }));
    EXPECT_EQ(content(other, window, 0), pattern(4096, 3));
    session_.emplace(Session::open(grant_));
    address_ = session_->engine_address();
  }
  EXPECT_GE(lasting.remote_accesses(), 6u);
}

TEST_P(EngineTest, AddressesOfTheDataProcessAreRefused) {
  JobEngine job(GetParam().job);
  job.connect(address_);
  std::vector<std::byte> bytes(8);
  std::uint64_t const address = reinterpret_cast<std::uint64_t>(&environ);
  EXPECT_EQ(job.get(0, address, bytes), MPIX_ENGINE_ACCESS_DENIED);
  EXPECT_EQ(job.put(0, address, bytes), MPIX_ENGINE_ACCESS_DENIED);
  EXPECT_EQ(job.add(0, address, MPIX_ENGINE_TYPE_INT64, std::int64_t{1}), MPIX_ENGINE_ACCESS_DENIED);
  EXPECT_EQ(mpix_engine_map(job.engine(), job.peer(), address, 8), nullptr);
  WindowInfo const window = session_->allocate({64}, {1});
  EXPECT_EQ(job.put(window.exposure, 0, bytes), MPIX_ENGINE_OK);
}

TEST_P(EngineTest, ConcurrentUpdatesOfJobsAndMappersAreExact) {
  (void)session_->allocate({5000}, {1});  // so that the window is not the first memory of the grant
  WindowInfo const window = session_->allocate({64}, {8});
  GrantMapping const memory = session_->map();
  constexpr int rounds = 300;
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      JobEngine job(GetParam().job);
      job.connect(address_);
      for (int round = 0; round < rounds; ++round) {
        ASSERT_EQ(job.add(window.exposure, 0, MPIX_ENGINE_TYPE_INT64, std::int64_t{1}), 0);
        // More than one instruction: executed with the stripe of the address held.
        ASSERT_EQ(job.add(window.exposure, 16, MPIX_ENGINE_TYPE_LONG_DOUBLE, 1.0L), 0);
      }
    });
  }
  std::uint64_t const at = window.regions[0].offset + 16;
  auto* const sum = reinterpret_cast<long double*>(memory.base() + at);
  for (int round = 0; round < 100 * rounds; ++round) {
    engine::StripeGuard const guard(memory.control().stripes(),
                                    engine::stripes_of(at, at + sizeof(long double)));
    *sum = *sum + 1.0L;
  }
  for (std::thread& thread : threads) thread.join();
  std::int64_t count = 0;
  session_->read(window, 0, 0, std::as_writable_bytes(std::span(&count, 1)));
  EXPECT_EQ(count, 2 * rounds);
  EXPECT_EQ(*sum, 102.0L * rounds);
}

TEST_P(EngineTest, EndedWindowIsStaleAndItsMemoryIsReused) {
  WindowInfo const window = session_->allocate({1u << 20}, {1});
  JobEngine job(GetParam().job);
  job.connect(address_);
  auto const values = pattern(1u << 20, 5);
  EXPECT_EQ(job.put(window.exposure, 0, values), MPIX_ENGINE_OK);
  session_->release(window);
  WindowInfo const next = session_->allocate({1u << 20}, {1});
  // Memory that the job can still reach is not given to the next window.
  EXPECT_TRUE(has_keys() || next.regions[0].offset == window.regions[0].offset);
  EXPECT_NE(next.exposure, window.exposure);
  EXPECT_TRUE(eventually([&] { return job.put(window.exposure, 0, values) == MPIX_ENGINE_STALE_EXPOSURE; }));
  EXPECT_EQ(content(*session_, next, 0), std::vector<std::byte>(1u << 20));
}

TEST_P(EngineTest, KilledDataProcessIsDetectedAndReplaced) {
  WindowInfo const window = session_->allocate({64}, {8}, {.persistent = true});
  JobEngine job(GetParam().job);
  job.connect(address_);
  EXPECT_EQ(job.add(window.exposure, 0, MPIX_ENGINE_TYPE_INT64, std::int64_t{41}), MPIX_ENGINE_OK);
  ::kill(server_.data_process(grant_), SIGKILL);
  EXPECT_TRUE(eventually([&] {
    return job.add(window.exposure, 8, MPIX_ENGINE_TYPE_INT64, std::int64_t{0}) != MPIX_ENGINE_OK;
  }));
  std::optional<Session> again;
  EXPECT_TRUE(eventually([&] {  // the server may not have noticed yet
    return !refusal([&] {
      again.emplace(Session::open(grant_));
      address_ = again->engine_address();
    });
  }));
  job.connect(address_);
  WindowInfo const found = again->join(window.id);
  EXPECT_EQ(job.add(found.exposure, 0, MPIX_ENGINE_TYPE_INT64, std::int64_t{1}), MPIX_ENGINE_OK);
  std::int64_t count = 0;
  again->read(found, 0, 0, std::as_writable_bytes(std::span(&count, 1)));
  EXPECT_EQ(count, 42);
}

/// The data process is killed when the data have left the client, before the data process has executed the
/// put.
TEST_P(EngineTest, CompletionReportsUnexecutedPuts) {
  if (has_keys()) GTEST_SKIP() << "UCX completes its own puts";
  for (std::size_t const bytes : {64u, 16384u, 100000u}) {
    SCOPED_TRACE(bytes);
    Session session = Session::open(grant_);
    std::vector<std::byte> const address = session.engine_address();
    WindowInfo const window = session.allocate({100000}, {1});
    JobEngine job(GetParam().job);
    job.connect(address);
    EXPECT_EQ(job.put(window.exposure, 0, pattern(bytes, 1)), 0);
    EXPECT_EQ(job.complete_all(), 0);
    pid_t const process = server_.data_process(grant_);
    stop_process(process);
    EXPECT_EQ(job.issue_put(window.exposure, 0, pattern(bytes, 2)), 0);
    for (int i = 0; i < 100; ++i) (void)mpix_engine_progress(job.engine());
    EXPECT_EQ(::kill(process, SIGKILL), 0);
    EXPECT_NE(job.complete_all(), 0);
    EXPECT_TRUE(eventually([&] { return !refusal([&] { Session::open(grant_); }); }));
  }
}

TEST_P(EngineTest, LocksExcludeAllUsersOfTheWindow) {
  using engine::LockMode;
  WindowInfo const window = session_->allocate({8, 8}, {1, 1});
  GrantMapping const memory = session_->map();
  std::optional<Session> other = Session::open(grant_);
  bool has_turn = false;
  EXPECT_TRUE(other->try_lock(window, 1, 1, LockMode::exclusive, &has_turn));
  bool is_next = false;
  EXPECT_FALSE(memory.control().try_lock(window.slot, 1, LockMode::shared, &is_next));
  EXPECT_FALSE(other->try_lock(window, 2, 1, LockMode::shared, &is_next));
  other->unlock_soon(window, 1, 1);
  EXPECT_TRUE(other->try_lock(window, 2, 1, LockMode::shared, &is_next));
  EXPECT_EQ(refusal([&] { other->try_lock(window, 2, 2, LockMode::shared, &is_next); }),
            ErrorCode::bad_request);
  other->end_locks(2);
  is_next = false;
  EXPECT_TRUE(other->try_lock(window, 3, 1, LockMode::exclusive, &is_next));
  other.reset();  // as when the client process ends
  is_next = false;
  EXPECT_TRUE(
      eventually([&] { return memory.control().try_lock(window.slot, 1, LockMode::exclusive, &is_next); }));
}

/// A stopped client process that has accessed a window with a remote key.
class StoppedClient {
 public:
  StoppedClient(std::vector<std::byte> const& address, std::uint64_t exposure) {
    pid_ = ::fork();
    if (pid_ != 0) {
      int status = 0;
      stopped_ = ::waitpid(pid_, &status, WUNTRACED) == pid_ && WIFSTOPPED(status);
      return;
    }
    JobEngine job(Rdma::emulated);
    job.connect(address);
    job.await_key(exposure);
    if (job.remote_accesses() == 0) ::_exit(1);
    ::raise(SIGSTOP);
    for (;;) ::pause();
  }
  ~StoppedClient() {
    tell(SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  bool is_stopped() const { return stopped_; }
  void tell(int signal) const { ::kill(pid_, signal); }

 private:
  pid_t pid_;
  bool stopped_ = false;
};

TEST(Engine, MemoryReachableByStoppedClientIsNotReused) {
  constexpr std::uint64_t most = 768u << 10;
  TestServer server;
  server.start({"--size", "64M", "--listen", "none", "--interfaces", "lo", "--rdma", "emulated"});
  for (int const signal : {SIGCONT, SIGKILL}) {
    Locator const grant = server.grant(1u << 20);
    Session session = Session::open(grant);
    std::vector<std::byte> const address = session.engine_address();
    WindowInfo const window = session.allocate({most}, {1});
    StoppedClient const client(address, window.exposure);
    ASSERT_TRUE(client.is_stopped());
    session.release(window);
    EXPECT_EQ(refusal([&] { session.allocate({most}, {1}); }), ErrorCode::no_space);
    WindowInfo const other = session.allocate({64u << 10}, {1});
    EXPECT_EQ(content(session, other, 0), std::vector<std::byte>(64u << 10));
    client.tell(signal);
    EXPECT_TRUE(eventually([&] { return !refusal([&] { session.allocate({most}, {1}); }); }));
  }
}

TEST(Engine, IsAvailableOnRequestOnly) {
  TestServer server;
  server.start();
  Locator const grant = server.grant(1u << 20);
  EXPECT_EQ(refusal([&] { Session::open(grant).engine_address(); }), ErrorCode::unsupported);
  EXPECT_EQ(Session::open(grant).allocate({8}, {1}).exposure, 0u);
}

TEST(Engine, IsNotForOtherUsers) {
  if (!is_root()) GTEST_SKIP() << "needs root";
  TestServer server;
  server.start({"--size", "64M", "--listen", "none", "--interfaces", "lo"});
  server.admit_all_users();
  Locator const grant = server.grant(1u << 20);
  WindowInfo const window = make_persistent(grant, 1000, 1, {.mode = 0644});
  EXPECT_TRUE(as_user(nobody, [&] {
    WindowInfo found;
    Session session = Session::connect(window.port, &found);
    bool has_turn = false;
    bool const reaches = refusal([&] { session.engine_address(); }) == ErrorCode::denied;
    bool const locks = refusal([&] {
                         session.try_lock(found, 1, 0, engine::LockMode::exclusive, &has_turn);
                       }) == ErrorCode::denied;
    return reaches && locks && content(session, found, 0) == pattern(1000, 1);
  }));
}

}  // namespace
}  // namespace mpixrma::nam
