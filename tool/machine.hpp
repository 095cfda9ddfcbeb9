/// Permissions of this machine for processes of this user.
#pragma once

#include <string>
#include <vector>

namespace mpixrma::tool {

enum class Verdict { yes, no, limited };

/// Something that a path needs.
struct Finding {
  std::string name;
  Verdict verdict;
  std::string reason;  ///< why, or what was found
  std::string remedy;  ///< "" where nothing is to be done
};

/// Each is tried, not looked up, where that is possible.
Finding shared_files();        ///< direct: memory of other processes by load and store
Finding cross_memory();        ///< copies from and to memory of other processes
Finding network_devices();     ///< put and get in hardware
Finding shared_memory_size();  ///< /dev/shm, which UCX uses
Finding locked_memory();
Finding open_files();
Finding huge_pages();

std::vector<Finding> look_at_machine();

}  // namespace mpixrma::tool
