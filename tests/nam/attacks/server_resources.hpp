/// Resource limits of a test's server, and the resources that it uses.
#pragma once

#include <sys/resource.h>

#include <filesystem>
#include <iterator>

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

inline std::size_t open_descriptors(pid_t process) {
  std::filesystem::directory_iterator const each("/proc/" + std::to_string(process) + "/fd");
  return static_cast<std::size_t>(std::distance(begin(each), end(each)));
}

}  // namespace mpixrma::nam
