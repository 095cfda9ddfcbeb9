/// A data process. The test plays the control process.
#include "nam/data/data_process.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <array>

#include "nam/client/locked_temp_directory.hpp"
#include "nam/protocol/socket.hpp"

namespace mpixrma::nam {
namespace {

class DataProcessTest : public ::testing::Test {
 protected:
  DataProcessTest() : directory_(make_locked_temp_directory("mpix-nam-data-")) {
    auto [near, far] = pair();
    pid_ = ::fork();
    if (pid_ == 0) {
      near = FileDescriptor();
      ::_exit(DataProcess(std::move(far)).run());
    }
    control_ = Channel(std::move(near), {.descriptors = 3});
    post(setup(), bind_unix((directory_.path / "adoption").string(), 0600));
    await("load");
    post({{"op", "windows"}, {"windows", Json::array()}, {"next", 0u}});
    await("ready");
  }
  ~DataProcessTest() override {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    std::filesystem::remove_all(directory_.path);
  }

  static std::array<FileDescriptor, 2> pair() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
  }
  static Json setup() {
    return {{"op", "setup"},       {"grant", std::string(32, 'a')},
            {"owner", 1u},         {"bytes", 1u << 20},
            {"storage", "memory"}, {"temporary", false},
            {"interfaces", ""},    {"rdma", "never"},
            {"encrypt", false},    {"max_windows", 16u},
            {"max_regions", 16u},  {"max_metadata", 1u << 20},
            {"max_sessions", 16u}, {"lease", 30u},
            {"window_count", 0u},  {"renew_control", false}};
  }
  void post(Json const& message, FileDescriptor descriptor = {}) {
    std::vector<FileDescriptor> passed;
    if (descriptor) passed.push_back(std::move(descriptor));
    control_.post(message, {}, std::move(passed));
    ASSERT_TRUE(control_.flush());
  }
  /// Waits for this message of the data process.
  void await(std::string const& op) {
    for (;;) {
      while (auto message = control_.next()) {
        if (message->head.value("op", "") == op) return;
      }
      pollfd entry{control_.descriptor(), POLLIN, 0};
      ASSERT_EQ(::poll(&entry, 1, 60000), 1);
      ASSERT_TRUE(control_.fill()) << "the data process has ended";
    }
  }

  LockedTempDirectory directory_;
  Channel control_;
  pid_t pid_ = -1;
};

/// A session whose connection cannot be made leaves nothing that later work finds.
TEST_F(DataProcessTest, SessionThatFailsIsNoSession) {
  Json const session{{"op", "session"}, {"uid", 2u},      {"groups", std::vector<gid_t>{2}},
                     {"admin", true},   {"stream", "no"}, {"request", {{"op", "open"}}}};
  post(session, std::move(pair()[0]));
  post({{"op", "admins"}, {"users", std::vector<uid_t>()}});
  post({{"op", "chmod"}, {"window", "none"}, {"mode", 0u}, {"change", 1u}});
  await("changed");
}

}  // namespace
}  // namespace mpixrma::nam
