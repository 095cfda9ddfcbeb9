/// Resource limits of a test's server, and the resources that it uses.
#pragma once

#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>

#include "tests/nam/server_fixture.hpp"
#include "tests/support/resident_memory.hpp"

namespace mpixrma::nam {

/// Starts a server that may have `descriptors` descriptors, and may raise this limit to `max_descriptors`.
/// Admits clients of all users. The process of the server calls `before` first.
inline void start_with_descriptors(
    TestServer& server, TestServer::Arguments const& arguments, rlim_t descriptors, rlim_t max_descriptors,
    std::function<void()> const& before = [] {}) {
  server.spawn(arguments, [&] {
    before();
    rlimit const limit{descriptors, max_descriptors};
    (void)::setrlimit(RLIMIT_NOFILE, &limit);
  });
  server.await();
  server.admit_all_users();
}

using test::resident_bytes;

using ProcessStatus = std::map<std::string, std::string>;

/// Returns the first value of each line of /proc/PID/status, by the line's name.
inline ProcessStatus status_of(pid_t process) {
  ProcessStatus status;
  std::ifstream file("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name >> status[name];
  }
  return status;
}

inline uid_t user_of(pid_t process) { return static_cast<uid_t>(std::stoul(status_of(process).at("Uid:"))); }

inline std::size_t open_descriptors(pid_t process) {
  std::filesystem::directory_iterator const each("/proc/" + std::to_string(process) + "/fd");
  return static_cast<std::size_t>(std::distance(begin(each), end(each)));
}

}  // namespace mpixrma::nam
