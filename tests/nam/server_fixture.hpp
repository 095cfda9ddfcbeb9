/// A memory server in a directory of its own, which is removed with the test.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "nam/client/locked_temp_directory.hpp"
#include "nam/client/session.hpp"

extern char** environ;

namespace mpixrma::nam {

class TestServer {
 public:
  using Arguments = std::vector<std::string>;
  static Arguments defaults() { return {"--size", "64M", "--listen", "none"}; }

  TestServer() {
    LockedTempDirectory directory = make_locked_temp_directory("mpix-nam-test-");
    directory_ = directory.path;
    held_ = std::move(directory.held);
    (void)::fcntl(held_.get(), F_SETFD, 0);  // the server's processes hold it, too
    state = directory_ / "state";
  }
  ~TestServer() {
    if (pid_ > 0) stop();
    std::filesystem::remove_all(directory_);
  }
  TestServer(TestServer const&) = delete;
  TestServer& operator=(TestServer const&) = delete;

  std::filesystem::path state;  ///< the server's directory

  std::filesystem::path const& directory() const { return directory_; }
  Address address() const { return {(directory_ / "socket").string(), "", 0}; }
  pid_t pid() const { return pid_; }

  /// Waits for the server to end. Returns the exit code; nothing if the server still runs after `within_ms`.
  std::optional<int> exit_code(int within_ms) {
    for (int waited = 0; waited <= within_ms; waited += 10) {
      int status = 0;
      if (::waitpid(pid_, &status, WNOHANG) == pid_) {
        pid_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return std::nullopt;
  }

  void spawn(
      Arguments const& more, std::function<void()> const& before = [] {}) {
    Arguments texts{MPIX_NAMD,
                    "--directory",
                    state.string(),
                    "--socket",
                    address().unix_path,
                    "--log-file",
                    (directory_ / "log").string()};
    texts.insert(texts.end(), more.begin(), more.end());
    std::vector<char*> arguments;
    for (std::string& text : texts) arguments.push_back(text.data());
    arguments.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ != 0) return;
    before();
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }

  /// Starts the server, and returns when it answers.
  void start(Arguments const& more = defaults()) {
    spawn(more);
    await();
  }
  void await() const {
    for (int waited = 0; waited < 10000; waited += 10) {
      if (answers()) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    FAIL() << "the server does not answer";
  }
  /// Starts a server that also ends when this process does.
  void start_bound(Arguments more = defaults()) {
    int ends[2] = {-1, -1};
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    more.emplace_back("--watch-stdin");
    spawn(more, [&] { ::dup2(ends[0], STDIN_FILENO); });
    ::close(ends[0]);
    life_ = FileDescriptor(ends[1]);
    await();
  }
  /// Lets other users reach the socket.
  void admit_all_users() const { std::filesystem::permissions(directory_, std::filesystem::perms(0755)); }
  bool answers() const {
    try {
      Client(address()).request({{"op", "hello"}});
      return true;
    } catch (Error const&) {
      return false;
    }
  }

  void kill() {
    ::kill(pid_, SIGKILL);
    EXPECT_EQ(exit_code(10000), 128 + SIGKILL);
  }
  void stop() {
    ::kill(pid_, SIGTERM);
    EXPECT_EQ(exit_code(10000), 0);
  }

  Json ask(Json const& request) const { return Client(address()).request(request); }
  Locator grant(std::uint64_t bytes, Json more = Json::object()) const {
    more["op"] = "grant";
    more["bytes"] = bytes;
    return parse_locator(ask(more).at("locator").get<std::string>());
  }
  Json show(Locator const& grant) const { return ask({{"op", "show"}, {"grant", grant.grant}}); }
  pid_t control_process() const { return ask({{"op", "usage"}}).at("control_pid").get<pid_t>(); }
  pid_t data_process(Locator const& grant) const { return show(grant).at("pid").get<pid_t>(); }

 private:
  std::filesystem::path directory_;
  FileDescriptor held_;
  pid_t pid_ = -1;
  FileDescriptor life_;  ///< when closed, ends a server of start_bound()
};

/// Returns the code of the Error that `action` throws; nothing if it throws none.
template <typename Action>
std::optional<ErrorCode> refusal(Action action) {
  try {
    action();
    return std::nullopt;
  } catch (Error const& error) {
    EXPECT_STRNE(error.what(), "");
    return error.code();
  }
}

/// Waits for up to two minutes: the server checks some conditions once a second.
template <typename Predicate>
bool eventually(Predicate predicate) {
  for (int waited = 0; waited < 120000; waited += 20) {
    if (predicate()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

/// Returns when the process has stopped.
inline void stop_process(pid_t process) {
  ASSERT_EQ(::kill(process, SIGSTOP), 0);
  ASSERT_TRUE(eventually([&] {
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    std::string line;
    std::getline(file, line);
    return line.find(") T ") != std::string::npos;
  }));
}

/// Runs `body` as another user. Returns true if it returns true there.
inline bool as_user(uid_t uid, std::function<bool()> const& body) {
  pid_t const child = ::fork();
  if (child == 0) {
    bool const changed = ::setgid(uid) == 0 && ::setuid(uid) == 0;
    bool good = false;
    try {
      good = changed && body();
    } catch (std::exception const& error) {
      std::fprintf(stderr, "as user %u: %s\n", uid, error.what());
    }
    ::_exit(good ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace mpixrma::nam
