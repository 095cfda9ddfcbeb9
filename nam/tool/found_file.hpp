/// Files that the caller names, in directories that other users may change.
#pragma once

#include <filesystem>

#include "engine/base/shared_memory.hpp"

namespace mpixrma::nam {

/// Opens what `path` names, or the current directory if `path` is empty, without access to its content
/// (O_PATH). Follows only symbolic links that root or the caller owns, so that nobody else chooses the file.
/// Throws Error(bad_request).
engine::FileDescriptor find_file(std::filesystem::path const& path);

}  // namespace mpixrma::nam
