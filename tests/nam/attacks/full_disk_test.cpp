/// Attacks on a server whose disk is full.
#include <sys/resource.h>

#include <csignal>
#include <optional>

#include "tests/nam/attacks/catalogs.hpp"
#include "tests/nam/attacks/small_disk.hpp"
#include "tests/nam/attacks/users.hpp"

namespace mpixrma::nam {
namespace {

constexpr std::size_t disk_bytes = 48u << 20;

class FullDisk : public Catalogs {
 protected:
  void SetUp() override {
    if (!is_root()) GTEST_SKIP() << "needs root, to mount a small disk";
    disk_.emplace(server_.state, disk_bytes);
    if (!disk_->is_mounted()) GTEST_SKIP() << "the system does not permit mounts";
  }
  void TearDown() override {
    if (server_.pid() > 0) server_.stop();
    disk_.reset();
  }
  void start(std::string const& storage) {
    server_.start({"--size", "1G", "--listen", "none", "--storage", storage, "--expiry-grace", "0"});
  }
  /// Makes windows until the catalog takes no more. Returns the last port name.
  std::string fill_catalog(Locator const& grant) {
    disk_->fill();
    Session session = Session::open(grant);
    std::string port;
    for (int i = 0; i < 10000; ++i) {
      WindowInfo window;
      auto const refused = refusal([&] { window = session.allocate({8}, {1}, {.persistent = true}); });
      if (refused) {
        EXPECT_EQ(refused, ErrorCode::no_space);
        return port;
      }
      port = window.port;
    }
    ADD_FAILURE() << "the disk does not become full";
    return port;
  }

  std::optional<SmallDisk> disk_;
};

TEST_F(FullDisk, ExpiryEndsTheGrantOnly) {
  start("memory");
  Locator const full = server_.grant(32u << 20);
  Locator const expiring = server_.grant(1u << 20, {{"seconds", 2}});
  (void)make_persistent(expiring, 100, 1);
  fill_catalog(full);
  EXPECT_TRUE(eventually([&] { return !runs() || !is_listed(expiring); }));
  ASSERT_TRUE(runs()) << log();
  disk_->fill();
  EXPECT_TRUE(is_listed(full));
  // The same after a restart.
  server_.kill();
  start("memory");
  EXPECT_TRUE(is_listed(full));
  EXPECT_FALSE(is_listed(expiring));
}

TEST_F(FullDisk, RevokeAndEvictFreeSpace) {
  start("file");
  Locator const revoked = server_.grant(8u << 20);
  Locator const full = server_.grant(4u << 20);
  std::string const evicted = make_persistent(full, 100, 1).port;
  std::string const kept = make_persistent(full, 100, 7).port;
  fill_catalog(full);
  EXPECT_EQ(refusal([&] { server_.ask({{"op", "evict"}, {"port", evicted}}); }), std::nullopt);
  disk_->fill();
  EXPECT_EQ(refusal([&] { server_.ask({{"op", "revoke"}, {"grant", revoked.grant}}); }), std::nullopt);
  EXPECT_TRUE(eventually([&] { return !refusal([&] { server_.grant(2u << 20); }); }));
  expect_pattern(kept, 100, 7);
  server_.stop();
  start("file");
  expect_pattern(kept, 100, 7);
  WindowInfo window;
  EXPECT_EQ(refusal([&] { Session::connect(evicted, &window); }), ErrorCode::not_found);
}

/// The users of this test need no account.
TEST_F(FullDisk, SecretWithoutSpaceIsCreatedLater) {
  start("memory");
  server_.admit_all_users();
  auto const code_for = [&](uid_t user, std::optional<ErrorCode> expected) {
    return as_user(user, [&] { return refusal([&] { server_.ask({{"op", "secret"}}); }) == expected; });
  };
  EXPECT_TRUE(code_for(owner, std::nullopt));
  disk_->fill();
  EXPECT_TRUE(code_for(owner, std::nullopt));
  EXPECT_TRUE(code_for(stranger, ErrorCode::no_space));
  disk_->empty();
  EXPECT_TRUE(code_for(stranger, std::nullopt));
}

/// A user with self-service could otherwise fill the file system with empty files.
TEST_F(FullDisk, RefusedGrantCreatesNoFile) {
  start("file");
  auto const files = [&] {
    std::filesystem::directory_iterator const all(server_.state / "memory");
    return std::distance(begin(all), end(all));
  };
  EXPECT_EQ(files(), 0);
  disk_->fill();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(refusal([&] { server_.grant(4096); }), ErrorCode::no_space);
  EXPECT_EQ(files(), 0);
}

TEST_F(FullDisk, KeyWithoutSpaceDoesNotReplaceFormerKey) {
  start("memory");
  auto const key = [&] {
    std::ifstream file(server_.state / "server.key");
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  std::string const before = key();
  disk_->fill();
  Json const rotation{{"op", "rotate_key"}, {"overlap", 0}};
  EXPECT_EQ(refusal([&] { server_.ask(rotation); }), ErrorCode::no_space);
  EXPECT_EQ(key(), before);
  EXPECT_FALSE(std::filesystem::exists(server_.state / "server.key.new"));
  disk_->empty();
  EXPECT_EQ(refusal([&] { server_.ask(rotation); }), std::nullopt);
  EXPECT_NE(key(), before);
}

/// The memory goes to no other window until it and its place in the file are cleared.
TEST_F(FullDisk, WindowThatCannotBeClearedEndsAllTheSame) {
  // With a data process of this user, whose limits this process may set.
  server_.spawn({"--size", "1G", "--listen", "none", "--storage", "file", "--data-uids", "none"},
                [] { ::signal(SIGXFSZ, SIG_IGN); });
  server_.await();
  constexpr std::uint64_t bytes = 1u << 20;
  Locator const grant = server_.grant(bytes);
  WindowInfo const evicted = make_persistent(grant, 100, 1);
  Session session = Session::open(grant);
  pid_t const process = server_.data_process(grant);
  rlimit before{};
  ASSERT_EQ(::prlimit(process, RLIMIT_FSIZE, nullptr, &before), 0);
  rlimit const nothing{0, before.rlim_max};  // a tmpfs clears files by writes
  ASSERT_EQ(::prlimit(process, RLIMIT_FSIZE, &nothing, nullptr), 0);
  server_.ask({{"op", "evict"}, {"port", evicted.port}});
  EXPECT_TRUE(
      eventually([&] { return refusal([&] { (void)session.join(evicted.id); }) == ErrorCode::not_found; }));
  EXPECT_EQ(refusal([&] { (void)session.allocate({bytes}, {1}); }), ErrorCode::no_space);
  WindowInfo const other = session.allocate({100}, {1});
  session.release(other);
  ASSERT_EQ(::prlimit(process, RLIMIT_FSIZE, &before, nullptr), 0);
  EXPECT_EQ(refusal([&] { (void)session.allocate({bytes}, {1}); }), std::nullopt);
}

}  // namespace
}  // namespace mpixrma::nam
