/// Files that the caller names, in directories that other users may change.
#pragma once

#include <filesystem>

#include "engine/base/shared_memory.hpp"

namespace mpixrma::nam {

/// Returns a descriptor of what `path` names that gives no access to it (O_PATH); for an empty path, of the
/// current directory. Follows symbolic links of root and of the caller alone: nobody else chooses which file
/// it is. Throws Error(bad_request).
engine::FileDescriptor find_file(std::filesystem::path const& path);

}  // namespace mpixrma::nam
