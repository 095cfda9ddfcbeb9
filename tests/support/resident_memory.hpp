/// The resident memory of a process.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>
#include <string>

namespace mpixrma::test {

inline std::size_t resident_bytes(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
  std::size_t size = 0;
  std::size_t resident = 0;
  file >> size >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace mpixrma::test
