/// Stops another process as a debugger or a scheduler would.
#pragma once

#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

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

}  // namespace mpixrma::test
