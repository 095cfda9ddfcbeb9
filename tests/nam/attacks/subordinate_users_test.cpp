/// A user who acts as his subordinate users (/etc/subuid), usually 65536. If each of them had the share of a
/// user, all of them together could take everything.
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nam/process/sandbox.hpp"
#include "nam/process/subordinate_users.hpp"
#include "tests/nam/attacks/attack.hpp"
#include "tests/nam/attacks/bind_mount.hpp"
#include "tests/nam/attacks/guest.hpp"
#include "tests/nam/attacks/users.hpp"

namespace mpixrma::nam {

namespace {

namespace fs = std::filesystem;

constexpr char const* system_file = "/etc/subuid";
constexpr uid_t first = 1'500'000'000;  ///< of the attacker's subordinate users

class SubordinateUsersAttack : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs other users";
    if (!has_users(first, 65536)) GTEST_SKIP() << "this user namespace has no such users";
    file_ = server_.directory() / "subuid";
    std::ofstream(file_) << attacker << ":" << first << ":65536\n";
    if (!as_user(0, [this] { return show_in_place_of(system_file, file_); }))
      GTEST_SKIP() << "needs " << system_file << " and mount namespaces";
    server_.admit_all_users();
  }
  void start(TestServer::Arguments const& arguments) {
    server_.spawn(arguments, [this] { (void)show_in_place_of(system_file, file_); });
  }
  bool serves(uid_t uid) const {
    return as_user(uid, [this] { return server_.ask({{"op", "names"}}).contains("names"); });
  }

  TestServer server_;

 private:
  fs::path file_;
};

}  // namespace

TEST(SubordinateUsers, BelongToTheUserOfTheirRange) {
  LockedTempDirectory const directory = make_locked_temp_directory("mpix-nam-test-");
  fs::path const file = directory.path / "subuid";
  std::ofstream(file)
      << "# a comment\nnobody-like-this:1000:5\n64001:100000:65536\nroot:200000:1\n64002:4294967290:100\n"
         "64003:300000\n64003:300000:0\n64003:x:5\n:300000:5\n64003:-1:5\n";
  SubordinateUsers users(file);
  EXPECT_EQ(users.owner_of(99999), 99999u);
  EXPECT_EQ(users.owner_of(100000), 64001u);
  EXPECT_EQ(users.owner_of(165535), 64001u);
  EXPECT_EQ(users.owner_of(165536), 165536u);
  EXPECT_EQ(users.owner_of(200000), 0u);
  EXPECT_EQ(users.owner_of(4294967294), 64002u);
  EXPECT_EQ(users.owner_of(300000), 300000u);
  EXPECT_EQ(users.owner_of(1000), 1000u);
  EXPECT_EQ(users.owner_in(99000, 1001), 64001u);
  EXPECT_EQ(users.owner_in(99000, 1000), std::nullopt);
  std::ofstream(file) << "64004:99999:1\n";
  users.refresh();
  EXPECT_EQ(users.owner_of(99999), 64004u);
  EXPECT_EQ(users.owner_of(100000), 100000u);
  fs::remove_all(directory.path);
  users.refresh();
  EXPECT_EQ(users.owner_of(99999), 99999u);
}

/// Each subordinate user has one connection: if they counted separately, no user would have several
/// connections and have to yield one.
TEST_F(SubordinateUsersAttack, ConnectionsCountForOneUser) {
  start({"--size", "64M", "--listen", "none", "--max-connections", "64"});
  server_.await();
  std::vector<std::unique_ptr<Attack>> attacks;
  for (uid_t each = 0; each < 64; ++each) {
    attacks.push_back(std::make_unique<Attack>(first + each, [this] {
      auto const connection = std::make_shared<Client>(server_.address());
      // Some are refused.
      (void)refusal([&] { (void)connection->request({{"op", "hello"}}); });
      return connection;
    }));
  }
  EXPECT_TRUE(serves(harmless));
  EXPECT_TRUE(serves(stranger));
  // The last attack ends first: each has inherited the descriptors whose closing ends the earlier ones.
  while (!attacks.empty()) attacks.pop_back();
}

/// If subordinate users counted separately, each would have the limit of a user.
TEST_F(SubordinateUsersAttack, GrantsCountForOneUser) {
  start({"--size", "64M", "--listen", "none", "--self-service", "8M", "--max-user-grants", "3"});
  server_.await();
  auto const grant_to_self = [this](uid_t uid, std::uint64_t bytes, std::optional<ErrorCode> expected) {
    return as_user(uid, [&] { return refusal([&] { (void)server_.grant(bytes); }) == expected; });
  };
  EXPECT_TRUE(grant_to_self(first, 5u << 20, std::nullopt));
  EXPECT_TRUE(grant_to_self(first + 1, 5u << 20, ErrorCode::quota));
  EXPECT_TRUE(grant_to_self(attacker, 5u << 20, ErrorCode::quota));
  EXPECT_TRUE(grant_to_self(first + 1, 4096, std::nullopt));
  EXPECT_TRUE(grant_to_self(attacker, 4096, std::nullopt));
  EXPECT_TRUE(grant_to_self(first + 2, 4096, ErrorCode::quota));
  EXPECT_TRUE(grant_to_self(harmless, 5u << 20, std::nullopt));
}

TEST_F(SubordinateUsersAttack, GrantsOfAdministratorsCountToo) {
  start({"--size", "64M", "--listen", "none", "--user-size", "8M"});
  server_.await();
  (void)server_.grant(5u << 20, {{"owner", std::to_string(first)}});
  auto const grant_to = [this](uid_t uid) {
    return refusal([&] { (void)server_.grant(5u << 20, {{"owner", std::to_string(uid)}}); });
  };
  EXPECT_EQ(grant_to(attacker), ErrorCode::quota);
  EXPECT_EQ(grant_to(first + 1), ErrorCode::quota);
  EXPECT_EQ(grant_to(harmless), std::nullopt);
}

TEST_F(SubordinateUsersAttack, NamesCountForOneUser) {
  constexpr std::size_t most = 64;
  start({"--size", "64M", "--listen", "none"});
  server_.await();
  Locator const grant = server_.grant(1u << 20);
  std::string const port = make_persistent(grant, 8, 1, {.mode = 0644}).port;
  std::size_t published = 0;
  for (std::size_t each = 0; each <= most; ++each) {
    published += as_user(first + static_cast<uid_t>(each), [&] {
      return server_.ask({{"op", "publish"}, {"name", "squatted"}, {"port", port}}).contains("name");
    });
  }
  EXPECT_EQ(published, most);
  EXPECT_TRUE(as_user(harmless, [&] {
    return server_.ask({{"op", "publish"}, {"name", "squatted"}, {"port", port}}).contains("name");
  }));
}

/// 20 lines a second, and 100 at once, for the user.
TEST_F(SubordinateUsersAttack, AuditedActsCountForOneUser) {
  constexpr uid_t users = 200;
  fs::path const audit = server_.directory() / "audit";
  start({"--size", "64M", "--listen", "none", "--audit-log", audit.string()});
  server_.await();
  auto const begin = std::chrono::steady_clock::now();
  for (uid_t each = 0; each < users; ++each) {
    EXPECT_TRUE(as_user(first + each, [this] {
      return refusal([this] { (void)server_.grant(4096); }) == ErrorCode::denied;
    }));
  }
  auto const seconds = std::chrono::ceil<std::chrono::seconds>(std::chrono::steady_clock::now() - begin);
  std::ifstream file(audit);
  int lines = 0;
  for (std::string line; std::getline(file, line);) lines += line.find("result=denied") != std::string::npos;
  EXPECT_GE(lines, 100);
  if (100 + 20 * seconds.count() >= users) GTEST_SKIP() << "the machine is too slow";
  EXPECT_LE(lines, 100 + 20 * seconds.count());
}

TEST_F(SubordinateUsersAttack, DataProcessesHaveOtherUsers) {
  start({"--size", "64M", "--listen", "none", "--data-uids", std::to_string(first + 65000) + "+1000"});
  EXPECT_EQ(server_.exit_code(20000), 2);
}

}  // namespace mpixrma::nam
