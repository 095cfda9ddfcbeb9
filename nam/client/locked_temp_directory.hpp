/// Directories of this user below the system's temporary directory, whose contents live only as long as the
/// processes that use them.
#pragma once

#include <filesystem>
#include <string>

#include "engine/base/shared_memory.hpp"

namespace mpixrma::nam {

struct LockedTempDirectory {
  std::filesystem::path path;
  /// Processes with this open descriptor hold the directory: no process removes it as abandoned.
  engine::FileDescriptor held;
};

/// Creates a directory whose name begins with `prefix`. Removes directories with this prefix that no process
/// holds, which killed processes have left. If other users can exchange entries of the temporary directory,
/// uses /tmp instead; if they can exchange entries of both, uses the former and removes none. Throws
/// Error(unavailable).
LockedTempDirectory make_locked_temp_directory(std::string const& prefix);

}  // namespace mpixrma::nam
