/// Directories of this user's under the system's directory for temporary files, which hold what ends with
/// the processes that use it.
#pragma once

#include <filesystem>
#include <string>

#include "engine/base/shared_memory.hpp"

namespace mpixrma::nam {

struct HeldDirectory {
  std::filesystem::path path;
  /// Whoever has it open holds the directory: nobody takes it for an abandoned one.
  engine::FileDescriptor held;
};

/// Makes one whose name begins with `prefix`. Those of the same beginning that no process holds any more go:
/// processes that were killed have left them. Throws Error(unavailable).
HeldDirectory make_held_directory(std::string const& prefix);

}  // namespace mpixrma::nam
