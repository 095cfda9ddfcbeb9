/// Processes that share nothing but a directory.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "tests/support/engine_paths.hpp"

namespace mpixrma::engine {
namespace {

using test::JobDirectory;

constexpr int short_ms = 100;

/// A process of the job without an engine.
class Member {
 public:
  Member(char const* directory, std::uint64_t process, int timeout_ms = short_ms) {
    opened_ = mpix_file_bootstrap_open(directory, process, timeout_ms, &files_) == 0;
  }
  ~Member() { mpix_file_bootstrap_close(files_); }
  Member(Member const&) = delete;
  Member& operator=(Member const&) = delete;

  bool is_open() const { return opened_; }
  mpix_bootstrap const& operator*() const { return *mpix_file_bootstrap_get(files_); }
  int publish(std::string const& text) const {
    return (**this).publish((**this).context, text.data(), text.size());
  }
  std::string find(std::uint64_t process) const {
    void const* address = nullptr;
    std::size_t length = 0;
    if ((**this).peer_address((**this).context, process, &address, &length) != 0) return "nothing";
    return {static_cast<char const*>(address), length};
  }
  std::vector<std::uint64_t> processes() const {
    std::vector<std::uint64_t> found(16);
    found.resize(mpix_file_bootstrap_processes(files_, found.data(), found.size()));
    return found;
  }
  bool waits_for(std::size_t count) const { return mpix_file_bootstrap_wait(files_, count) == 0; }
  void close() {
    mpix_file_bootstrap_close(files_);
    files_ = nullptr;
  }

 private:
  mpix_file_bootstrap_t* files_ = nullptr;
  bool opened_ = false;
};

using List = std::vector<std::uint64_t>;

TEST(FileBootstrap, PublishesAddressesUntilTheirProcessesEnd) {
  JobDirectory const directory;
  Member const first(directory.path(), 7);
  Member second(directory.path(), 0xfedcba9876543210);
  ASSERT_TRUE(first.is_open() && second.is_open());
  EXPECT_EQ(first.processes(), List{});
  ASSERT_EQ(first.publish("the first"), 0);
  ASSERT_EQ(second.publish(std::string(5000, 'x')), 0);
  EXPECT_EQ(first.processes(), (List{7, 0xfedcba9876543210}));
  EXPECT_TRUE(first.waits_for(2));
  EXPECT_EQ(second.find(7), "the first");
  EXPECT_EQ(first.find(0xfedcba9876543210), std::string(5000, 'x'));
  std::uint64_t exited = 0;
  EXPECT_NE((*first).next_exited((*first).context, &exited), 0);
  second.close();
  EXPECT_EQ((*first).next_exited((*first).context, &exited), 0);
  EXPECT_EQ(exited, 0xfedcba9876543210);
  EXPECT_NE((*first).next_exited((*first).context, &exited), 0);
  EXPECT_EQ(first.processes(), List{7});
}

TEST(FileBootstrap, KilledProcessBlocksNoOther) {
  JobDirectory const directory;
  Member const first(directory.path(), 1);
  Member second(directory.path(), 2);
  pid_t const child = ::fork();
  if (child == 0) {
    Member const killed(directory.path(), 3);
    ::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  auto const entries = [&] {
    return std::distance(std::filesystem::directory_iterator(directory.path()), {});
  };
  EXPECT_EQ(entries(), 3);  // the FIFOs
  ASSERT_EQ(second.publish("second"), 0);
  second.close();
  EXPECT_EQ(entries(), 1);
  std::uint64_t exited = 0;
  EXPECT_EQ((*first).next_exited((*first).context, &exited), 0);
  EXPECT_EQ(exited, 2u);
}

TEST(FileBootstrap, WaitsForLateProcess) {
  JobDirectory const directory;
  Member const first(directory.path(), 1, 10000);
  pid_t const child = ::fork();
  if (child == 0) {
    ::usleep(50000);
    Member const late(directory.path(), 2);
    bool const well = late.publish("late") == 0 && late.waits_for(1);
    while (::access((std::string(directory.path()) + "/seen").c_str(), F_OK) != 0) ::usleep(1000);
    ::_exit(well ? 0 : 1);
  }
  EXPECT_EQ(first.find(2), "late");
  ::close(::creat((std::string(directory.path()) + "/seen").c_str(), S_IRUSR));
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(FileBootstrap, ReportsMissingProcessAfterTimeout) {
  JobDirectory const directory;
  Member const first(directory.path(), 1);
  ASSERT_EQ(first.publish("here"), 0);
  auto const begin = std::chrono::steady_clock::now();
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(first.find(0x2a), "nothing");
  EXPECT_FALSE(first.waits_for(2));
  std::string const output = ::testing::internal::GetCapturedStderr();
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(2 * short_ms));
  EXPECT_NE(output.find("process 000000000000002a has no address in " + std::string(directory.path())),
            std::string::npos)
      << output;
  EXPECT_NE(output.find("1 of 2 processes"), std::string::npos) << output;
}

TEST(FileBootstrap, RejectsDuplicateIdentity) {
  JobDirectory const directory;
  Member const first(directory.path(), 1);
  Member const second(directory.path(), 1);
  ASSERT_EQ(first.publish("first"), 0);
  ::testing::internal::CaptureStderr();
  EXPECT_NE(second.publish("second"), 0);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("a process with this identity exists"),
            std::string::npos);
  EXPECT_EQ(second.find(1), "first");

  mpix_engine_config config;
  mpix_engine_config_init(&config);
  mpix_engine_t* engine = nullptr;
  ::testing::internal::CaptureStderr();
  EXPECT_NE(mpix_engine_create(&config, &*second, &engine), 0);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("the engine does not start"), std::string::npos);
}

TEST(FileBootstrap, RejectsDirectoryAccessibleToOtherUsers) {
  JobDirectory const directory;
  std::string const inner = std::string(directory.path()) + "/job";
  Member const first(inner.c_str(), 1);  // creates the directory
  ASSERT_TRUE(first.is_open());
  ASSERT_EQ(first.publish("secret"), 0);
  struct stat status {};
  ASSERT_EQ(::stat(inner.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  ASSERT_EQ(::stat((inner + "/0000000000000001").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);

  ::chmod(inner.c_str(), 0750);
  ::testing::internal::CaptureStderr();
  EXPECT_FALSE(Member(inner.c_str(), 2).is_open());
  EXPECT_FALSE(Member((inner + "/none/below").c_str(), 2).is_open());
  std::string const output = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(output.find("other users can access it"), std::string::npos) << output;
  EXPECT_NE(output.find("No such file"), std::string::npos) << output;
  ::chmod(inner.c_str(), 0700);
}

TEST(FileBootstrap, ForkedChildKeepsAddressOfItsParent) {
  JobDirectory const directory;
  Member first(directory.path(), 1);
  ASSERT_EQ(first.publish("first"), 0);
  pid_t const child = ::fork();
  if (child == 0) {
    first.close();
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(first.processes(), List{1});
}

/// Runs C programs that find each other through the directory.
class RunPrograms : public ::testing::TestWithParam<char const*> {};
INSTANTIATE_TEST_SUITE_P(Paths, RunPrograms, ::testing::Values("0x1f", "0x1", "0x2", "0x10"));

TEST_P(RunPrograms, WorkWithEachOther) {
  constexpr int count = 4;
  JobDirectory const directory;
  ::setenv("MPIX_TEST_PATHS", GetParam(), 1);
  std::vector<pid_t> children;
  for (int i = 1; i <= count; ++i) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    std::string const process = std::to_string(i);
    std::string const all = std::to_string(count);
    ::execl(MPIX_ENGINE_MEMBER, "engine_member", directory.path(), process.c_str(), all.c_str(), nullptr);
    ::_exit(127);
  }
  for (pid_t const child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  EXPECT_EQ(Member(directory.path(), 9).processes(), List{});
}

}  // namespace
}  // namespace mpixrma::engine
