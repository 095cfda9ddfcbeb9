/// Attacks on the memory of a grant through its files: extended attributes take kernel memory that no grant
/// counts. The attributes stay after the attacker has ended, because the server keeps the file.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/xattr.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "tests/nam/attacks/attack.hpp"
#include "tests/nam/attacks/server_resources.hpp"
#include "tests/nam/attacks/users.hpp"
#include "tests/nam/windows_of_server.hpp"

namespace mpixrma::nam {
namespace {

constexpr char const* attribute = "user.ballast";

bool takes_attribute(int file, std::string const& name = attribute) {
  std::string const value(4096, 'x');
  return ::fsetxattr(file, name.c_str(), value.data(), value.size(), 0) == 0;
}

/// Whether the system has attributes of memory at all (Linux 6.6).
bool has_attributes() {
  FileDescriptor const own(::memfd_create("mpix-test", MFD_CLOEXEC));
  return takes_attribute(own.get());
}

class Attributes : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!is_root()) GTEST_SKIP() << "needs other users";
    server_.start();
    server_.admit_all_users();
    grant_ = server_.grant(1u << 20, {{"owner", std::to_string(owner)}});
  }
  /// Returns whether the owner gets the files of the grant, but can add no attribute to them.
  bool owner_adds_nothing() const {
    return as_user(owner, [&] {
      auto const files = mapped(grant_);
      return files.size() == 2 && std::none_of(files.begin(), files.end(),
                                               [](auto const& file) { return takes_attribute(file.get()); });
    });
  }
  /// Ends the grant's data process. Returns when there is another one.
  void end_data_process() const {
    pid_t const ended = server_.data_process(grant_);
    ASSERT_EQ(::kill(ended, SIGKILL), 0);
    EXPECT_TRUE(eventually([&] {
      Json const shown = server_.show(grant_);
      return shown.at("ready").get<bool>() && shown.at("pid") != ended;
    }));
  }

  TestServer server_;
  Locator grant_;
};

TEST_F(Attributes, OwnerCannotAddAttributesToMemoryOfGrant) {
  if (!has_attributes()) GTEST_SKIP() << "the system has no attributes of memory";
  EXPECT_TRUE(owner_adds_nothing());
}

/// The memory belongs to the user of the data process that has created the memory.
TEST_F(Attributes, OwnerCannotAddAttributesAfterEndOfDataProcess) {
  uid_t const user = user_of(server_.data_process(grant_));
  for (int round = 0; round < 3; ++round) {
    end_data_process();
    EXPECT_EQ(user_of(server_.data_process(grant_)), user);
    EXPECT_TRUE(!has_attributes() || owner_adds_nothing());
  }
}

/// The user of the memory may have another process, for example one of another server.
TEST_F(Attributes, MemoryStaysInUseIfItsUserIsTaken) {
  uid_t const user = user_of(server_.data_process(grant_));
  if (user == 0) GTEST_SKIP() << "the system has no users for data processes";
  WindowInfo const made = make_persistent(grant_, 100, 1);
  Attack const other(user, [] { return std::make_shared<int>(); });
  end_data_process();
  EXPECT_NE(user_of(server_.data_process(grant_)), user);
  EXPECT_TRUE(as_user(owner, [&] { return mapped(grant_).size() == 2; }));
  expect_pattern(made.port, 100, 1);
}

}  // namespace
}  // namespace mpixrma::nam
