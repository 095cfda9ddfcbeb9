/// Stops another process as a debugger or a scheduler would.
#pragma once

#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "tests/support/latch.hpp"

namespace mpixrma::test {

/// Returns when all threads of the process are stopped.
inline void stop(pid_t pid) {
  ::kill(pid, SIGSTOP);
  auto const runs = [&] {
    for (auto const& task : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task")) {
      std::ifstream file(task.path() / "stat");
      std::string const line{std::istreambuf_iterator<char>(file), {}};
      if (line.find(") T ") == std::string::npos) return true;
    }
    return false;
  };
  while (runs()) ::usleep(100);
}

/// A process that is stopped until continue_now(), or for a while, so that a test that waits for the process
/// fails instead of hanging.
class StoppedProcess {
 public:
  explicit StoppedProcess(pid_t pid) : pid_(pid) {
    hold_.close();
    stop(pid_);
    thread_ = std::thread([this] {
      hold_.pass();
      ::kill(pid_, SIGCONT);
    });
  }
  ~StoppedProcess() { continue_now(); }
  StoppedProcess(StoppedProcess const&) = delete;
  StoppedProcess& operator=(StoppedProcess const&) = delete;

  void continue_now() {
    hold_.open();
    if (thread_.joinable()) thread_.join();
  }
  bool was_stopped_until_then() const { return !hold_.was_forced(); }

 private:
  pid_t pid_;
  Latch hold_;
  std::thread thread_;
};

}  // namespace mpixrma::test
