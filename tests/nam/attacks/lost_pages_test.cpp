/// The kernel reports a write-back error once and then treats the lost pages as clean: persist() must write
/// them again.
#include <filesystem>
#include <fstream>

#include "tests/nam/windows_of_server.hpp"
#include "tests/support/slowness.hpp"

namespace mpixrma::nam {
namespace {

constexpr std::size_t lost_bytes = 20000;

class LostPages : public ::testing::Test {
 protected:
  void SetUp() override {
    if (test::sanitized) GTEST_SKIP() << "loads a library before the sanitizer's";
    std::ofstream(disk()).put('\0');
    std::filesystem::permissions(disk(), std::filesystem::perms(0666));
    server.admit_all_users();
    server.spawn({"--size", "64M", "--listen", "none", "--storage", "file"}, [this] {
      ::setenv("LD_PRELOAD", MPIX_LOSSY_DISK, 1);
      ::setenv("MPIX_TEST_DISK", disk().c_str(), 1);
    });
    server.await();
    grant = server.grant(1u << 20);
  }
  std::filesystem::path disk() const { return server.directory() / "disk"; }
  void break_disk() const { std::ofstream(disk().string() + ".fails").put('x'); }
  void repair_disk() const { std::filesystem::remove(disk().string() + ".fails"); }
  static WindowInfo make(Session& session) {
    return session.allocate({lost_bytes}, {1}, {.persistent = true, .durability = Durability::storage});
  }
  /// Whether the window would have this content after a crash of the machine.
  bool is_on_disk(WindowInfo const& window, std::vector<std::byte> const& content) const {
    std::ifstream stream(disk(), std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(window.regions[0].offset));
    std::vector<char> found(content.size());
    stream.read(found.data(), static_cast<std::streamsize>(found.size()));
    return stream && std::memcmp(found.data(), content.data(), content.size()) == 0;
  }
  static std::optional<ErrorCode> persist(Session& session, WindowInfo const& window) {
    return refusal([&] { session.persist(window); });
  }

  TestServer server;
  Locator grant;
};

TEST_F(LostPages, AreWrittenAgainByTheNextPersist) {
  Session session = Session::open(grant);
  WindowInfo const window = make(session);
  session.write(window, 0, 0, pattern(lost_bytes, 1));
  ASSERT_EQ(persist(session, window), std::nullopt);
  ASSERT_TRUE(is_on_disk(window, pattern(lost_bytes, 1)));
  break_disk();
  session.write(window, 0, 0, pattern(lost_bytes, 2));
  EXPECT_EQ(persist(session, window), ErrorCode::internal);
  EXPECT_EQ(persist(session, window), ErrorCode::internal);
  EXPECT_TRUE(is_on_disk(window, pattern(lost_bytes, 1)));
  repair_disk();
  EXPECT_EQ(persist(session, window), std::nullopt);
  EXPECT_TRUE(is_on_disk(window, pattern(lost_bytes, 2)));
}

/// A failed sync for one window also loses written pages of another window.
TEST_F(LostPages, RewritesPagesOfOtherWindow) {
  Session session = Session::open(grant);
  WindowInfo const window = make(session);
  WindowInfo const other = make(session);
  session.write(other, 0, 0, pattern(lost_bytes, 2));
  session.release(other);  // written, and not synced
  break_disk();
  EXPECT_EQ(persist(session, window), ErrorCode::internal);
  repair_disk();
  EXPECT_EQ(persist(session, window), std::nullopt);
  WindowInfo const again = session.join(other.id);
  EXPECT_EQ(persist(session, again), std::nullopt);
  EXPECT_TRUE(is_on_disk(other, pattern(lost_bytes, 2)));
}

/// A data process does not know the errors that the disk has reported to an earlier one.
TEST_F(LostPages, RewritesPagesOfFormerDataProcess) {
  WindowInfo window;
  {
    Session session = Session::open(grant);
    window = make(session);
    session.write(window, 0, 0, pattern(lost_bytes, 2));
    break_disk();
    EXPECT_EQ(persist(session, window), ErrorCode::internal);
  }
  repair_disk();
  pid_t const process = server.data_process(grant);
  ::kill(process, SIGKILL);
  EXPECT_TRUE(eventually([&] { return server.data_process(grant) != process; }));
  Session session = Session::open(grant);
  window = session.join(window.id);
  EXPECT_FALSE(is_on_disk(window, pattern(lost_bytes, 2)));
  EXPECT_EQ(persist(session, window), std::nullopt);
  EXPECT_TRUE(is_on_disk(window, pattern(lost_bytes, 2)));
}

}  // namespace
}  // namespace mpixrma::nam
