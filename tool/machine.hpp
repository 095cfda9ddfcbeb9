/// The features that this machine permits to processes of this user.
#pragma once

#include <string>
#include <vector>

namespace mpixrma::tool {

enum class Verdict { yes, no, limited };

/// A feature that MPIX-RMA uses.
struct Finding {
  std::string name;
  Verdict verdict;
  std::string reason;  ///< reason, or what was found
  std::string remedy;  ///< "" if no action is needed
};

// These two try the feature.
Finding shared_files();  ///< direct: access to memory of other processes by load and store
Finding cross_memory();  ///< copies from and to memory of other processes

// The others read settings and limits.
Finding network_devices();     ///< put and get in hardware
Finding shared_memory_size();  ///< /dev/shm, which UCX uses
Finding locked_memory();
Finding open_files();
Finding huge_pages();

std::vector<Finding> look_at_machine();

}  // namespace mpixrma::tool
