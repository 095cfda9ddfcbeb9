/// Resource limits of a test's server, and the resources that it uses.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "tests/nam/server_fixture.hpp"

namespace mpixrma::nam {

/// Starts a server for clients of all users that may have `descriptors` descriptors, and raise this limit to
/// `most_descriptors`.
inline void start_with_descriptors(TestServer& server, TestServer::Arguments const& arguments,
                                   rlim_t descriptors, rlim_t most_descriptors) {
  server.spawn(arguments, [=] {
    rlimit const limit{descriptors, most_descriptors};
    (void)::setrlimit(RLIMIT_NOFILE, &limit);
  });
  server.await();
  server.admit_all_users();
}

inline std::size_t resident_bytes(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
  std::size_t size = 0;
  std::size_t resident = 0;
  file >> size >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace mpixrma::nam
