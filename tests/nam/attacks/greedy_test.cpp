/// Owners of grants: their clients send messages to the engine beyond the credit, and use many processes.
#include "tests/nam/attacks/server_resources.hpp"
#include "tests/nam/job_engine.hpp"
#include "tests/nam/windows_of_server.hpp"
#include "tests/support/session_client.hpp"

namespace mpixrma::nam {
namespace {

using engine::wire::RequestKind;
using test::SessionClient;

constexpr std::size_t mib = 1u << 20;

class Greedy : public ::testing::Test {
 protected:
  void start(rlim_t descriptors = 4096) {
    start_with_descriptors(server_, {"--size", "64M", "--listen", "none", "--interfaces", "lo"}, descriptors,
                           descriptors);
    grant_ = server_.grant(20 * mib);
    process_ = server_.data_process(grant_);
  }
  static void flood(SessionClient& client, int count) {
    for (int i = 0; i < count; ++i) client.send_only(client.next(RequestKind::get, mib));
  }
  /// Returns the largest resident memory of the data process in the next three seconds.
  std::size_t peak() const {
    std::size_t most = 0;
    for (int i = 0; i < 300; ++i) {
      most = std::max(most, resident_bytes(process_));
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return most;
  }
  /// Expects that the same data process serves another session of the owner.
  void expect_service() const {
    Session session = Session::open(grant_);
    std::vector<std::byte> const address = session.engine_address();
    WindowInfo const window = session.allocate({4096}, {1});
    JobEngine job;
    job.connect(address);
    EXPECT_EQ(job.put(window.exposure, 0, pattern(4096, 5)), 0);
    EXPECT_EQ(content(session, window, 0), pattern(4096, 5));
    EXPECT_EQ(server_.data_process(grant_), process_);
  }

  TestServer server_;
  Locator grant_;
  pid_t process_ = 0;
};

TEST_F(Greedy, UnreadRepliesAreBoundedAndEndWithTheSession) {
  start();
  Session session = Session::open(grant_);
  std::vector<std::byte> const address = session.engine_address();
  WindowInfo const window = session.allocate({mib}, {1});
  session.write(window, 0, 0, pattern(mib, 1));
  expect_service();
  SessionClient client(address, window.exposure);
  ASSERT_TRUE(client.connect());
  std::size_t const before = resident_bytes(process_);
  flood(client, 500);
  EXPECT_LT(peak(), before + 32 * mib);
  expect_service();
  EXPECT_TRUE(eventually([&] {
    flood(client, 300);
    return refusal([&] { session.usage(); }).has_value();
  }));
  EXPECT_TRUE(eventually([&] { return resident_bytes(process_) < before + 8 * mib; }));
  expect_service();
}

/// A client that reads no replies can learn why its session has ended.
TEST_F(Greedy, SessionThatReadsNoRepliesGetsReasonForItsEnd) {
  start();
  Session session = Session::open(grant_);
  std::vector<std::byte> const address = session.engine_address();
  WindowInfo const window = session.allocate({mib}, {1});
  SessionClient client(address, window.exposure);
  ASSERT_TRUE(client.connect());
  for (int i = 0; i < 100; ++i) flood(client, 300);
  std::optional<ErrorCode> told;
  EXPECT_TRUE(eventually([&] { return (told = refusal([&] { session.usage(); })).has_value(); }));
  EXPECT_EQ(told, ErrorCode::quota);
}

TEST_F(Greedy, ExcessProcessesEndTheSession) {
  start();
  Session session = Session::open(grant_);
  std::vector<std::byte> const address = session.engine_address();
  WindowInfo const window = session.allocate({4096}, {1});
  std::vector<std::unique_ptr<JobEngine>> jobs;
  for (int i = 0; i < 4; ++i) {
    jobs.push_back(std::make_unique<JobEngine>());
    jobs.back()->connect(address);
    EXPECT_EQ(jobs.back()->put(window.exposure, 0, pattern(4096, 1)), 0);
  }
  EXPECT_FALSE(refusal([&] { session.usage(); }));
  JobEngine fifth;
  fifth.connect(address);
  EXPECT_NE(fifth.put_within(3000, window.exposure, 0, pattern(4096, 2)), 0);
  std::optional<ErrorCode> told;
  EXPECT_TRUE(eventually([&] { return (told = refusal([&] { session.usage(); })).has_value(); }));
  EXPECT_EQ(told, ErrorCode::quota);
  expect_service();
}

/// Each session may have connections of several processes.
TEST_F(Greedy, SessionsThatUseTheEngineShareDescriptors) {
  start(256);
  std::vector<Session> sessions;
  std::optional<ErrorCode> refused;
  while (sessions.size() < 60 && !refused) {
    sessions.push_back(Session::open(grant_));
    refused = refusal([&] { sessions.back().engine_address(); });
  }
  EXPECT_EQ(refused, ErrorCode::quota);
  EXPECT_LT(sessions.size(), 30u);
  sessions.clear();
  EXPECT_TRUE(eventually([&] { return !refusal([&] { Session::open(grant_).engine_address(); }); }));
}

}  // namespace
}  // namespace mpixrma::nam
