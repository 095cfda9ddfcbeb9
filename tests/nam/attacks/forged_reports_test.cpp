/// A data process that another host has taken over through UCX's port: an attacker chooses the messages of
/// this process to the control process.
#include <fcntl.h>
#include <sys/mman.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "nam/protocol/channel.hpp"
#include "nam/protocol/shared_control.hpp"
#include "nam/protocol/socket.hpp"
#include "nam/protocol/version.hpp"
#include "tests/nam/attacks/fake_server.hpp"
#include "tests/nam/attacks/users.hpp"
#include "tests/nam/windows_of_server.hpp"

namespace mpixrma::nam {
namespace {

class ForgedReports : public ::testing::Test {
 protected:
  static constexpr std::uint64_t bytes = 1u << 20;

  /// Takes the place of a grant's data process at a server that is started again.
  void take_over() {
    server_.start();
    server_.admit_all_users();
    Json const options = is_root() ? Json{{"owner", std::to_string(owner)}} : Json::object();
    grant_ = server_.grant(bytes, options);
    pid_t const process = server_.data_process(grant_);
    server_.kill();
    ::kill(process, SIGKILL);
    auto const adoption = server_.state / "run" / grant_.grant.substr(0, 16);
    ASSERT_TRUE(eventually([&] { return !connect_unix(adoption.string()); }));
    listener_ = listen_unix(adoption.string(), 0600);
    memory_ = FileDescriptor(::memfd_create("forged", MFD_CLOEXEC));
    ASSERT_EQ(::ftruncate(memory_.get(), static_cast<off_t>(bytes)), 0);
    server_.start();
    be_adopted();
  }
  void be_adopted() {
    FileDescriptor socket;
    ASSERT_TRUE(eventually([&] { return static_cast<bool>(socket = accept_from(listener_)); }));
    link_ = Channel(std::move(socket), {.head_bytes = 8u << 20, .data_bytes = 0, .descriptors = 4});
    report_ready();
  }
  void report_ready() {
    std::vector<FileDescriptor> passed;
    passed.emplace_back(::fcntl(control_.descriptor().get(), F_DUPFD_CLOEXEC, 0));
    while (passed.size() < descriptors_) passed.emplace_back(::fcntl(memory_.get(), F_DUPFD_CLOEXEC, 0));
    link_.post({{"op", "ready"}, {"protocol", data_protocol_version}, {"tells_changes", true}}, {},
               std::move(passed));
    EXPECT_TRUE(link_.flush());
  }
  /// Sends `count` messages; returns when the control process has handled them.
  void send(Json const& message, int count = 1) {
    for (int i = 0; i < count; ++i) link_.post(message);
    link_.post({{"op", "load"}, {"after", 0}});
    ASSERT_TRUE(eventually([&] { return link_.flush() && !link_.has_output(); }));
    for (auto answer = await_message(link_); answer; answer = await_message(link_)) {
      if (answer->head.value("op", "") == "windows") return;
    }
    FAIL() << "the control process has closed the connection";
  }
  std::vector<std::string> lines_with(std::string const& text) const {
    std::ifstream file(server_.directory() / "log");
    std::vector<std::string> found;
    for (std::string line; std::getline(file, line);) {
      if (line.find(text) != std::string::npos) found.push_back(line);
    }
    return found;
  }

  TestServer server_;
  Locator grant_;
  FileDescriptor listener_;
  FileDescriptor memory_;
  SharedControl control_ = SharedControl::make(100);
  std::size_t descriptors_ = 2;  ///< of the memory and the control block
  Channel link_;
};

TEST_F(ForgedReports, UsageOfTheWrongKindFailsNoRequestOfUsers) {
  take_over();
  for (Json const& wrong : {Json("all"), Json(-1), Json(1.5), Json{1, 2}, Json{{"a", 1}}, Json(nullptr)}) {
    for (char const* const name : {"used", "free", "sessions", "windows"}) {
      send({{"op", "usage"}, {name, wrong}});
      for (char const* const request : {"usage", "list"})
        EXPECT_NO_THROW(server_.ask({{"op", request}})) << request << " " << name << wrong;
    }
  }
  send({{"op", "usage"}, {"used", 4096}});
  EXPECT_EQ(server_.ask({{"op", "usage"}}).at("used"), 4096);
}

TEST_F(ForgedReports, InvalidMessagesAddFewLinesToTheLog) {
  constexpr int many = 3000;
  constexpr std::size_t few = 60;
  take_over();
  send({{"op", "usage"}, {"used", "all"}}, many);
  send({{"op", "ready"}, {"protocol", 1}}, many);
  send({{"op", "failed"}, {"error", "internal"}, {"text", std::string(2000, 'x')}}, many);
  send({{"op", "create"}, {"creation", 1}}, many);
  EXPECT_LT(lines_with("").size(), few);
  EXPECT_GE(lines_with("a message of a data process failed").size(), 1u);
  EXPECT_TRUE(server_.answers());
}

TEST_F(ForgedReports, ProcessThatEndsAndIsAdoptedInALoopAddsFewLinesToTheLog) {
  take_over();
  auto const end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  while (std::chrono::steady_clock::now() < end) {
    link_ = Channel();
    be_adopted();
  }
  EXPECT_LT(lines_with("has ended").size(), 20u);
  EXPECT_TRUE(server_.answers());
}

/// The main process gets the descriptors, and starts the data processes of new grants.
TEST_F(ForgedReports, WrongDescriptorsDoNotPreventNewGrants) {
  take_over();
  pid_t const control = server_.control_process();
  for (std::size_t const count : {4u, 1u}) {
    descriptors_ = count;
    link_ = Channel();
    be_adopted();
    send({{"op", "usage"}, {"used", 0}});
    EXPECT_NO_THROW((void)server_.data_process(server_.grant(4096))) << count;
    EXPECT_EQ(server_.control_process(), control) << count;
  }
}

TEST_F(ForgedReports, WindowIdentifiersContainNoOtherText) {
  take_over();
  std::string const good(32, 'a');
  for (std::string const& id : {std::string("../a"), std::string("a\nb"), std::string(65, 'a'), good}) {
    Json const window{{"window", id}, {"persistent", true}, {"owner", ::geteuid()},
                      {"group", 0},   {"mode", 0600},       {"durability", "server"},
                      {"offset", 0},  {"sizes", {8}},       {"units", {1}}};
    link_.post({{"op", "create"}, {"creation", 1}, {"window", window}});
    ASSERT_TRUE(link_.flush());
    auto answer = await_message(link_);
    while (answer && answer->head.value("op", "") != "created") answer = await_message(link_);
    ASSERT_TRUE(answer) << id;
    EXPECT_EQ(answer->head.contains("port"), id == good) << answer->head;
  }
}

/// Each user has a budget of lines in the audit log, which others cannot use up.
TEST_F(ForgedReports, ForgedDenialsDoNotHideRealOnes) {
  if (!is_root()) GTEST_SKIP() << "needs other users";
  take_over();
  send({{"op", "denied"}, {"uid", stranger}, {"request", "write"}, {"text", "no"}}, 500);
  std::string const of_stranger = "audit user=\"" + std::to_string(stranger) + "\" from=";
  EXPECT_GE(lines_with(of_stranger + "\"session of grant").size(), 1u);
  EXPECT_TRUE(as_user(stranger, [this] {
    return refusal([this] { server_.ask({{"op", "rotate_key"}, {"overlap", 1}}); }) == ErrorCode::denied;
  }));
  EXPECT_EQ(lines_with(of_stranger + "\"pid ").size(), 1u);
}

}  // namespace
}  // namespace mpixrma::nam
