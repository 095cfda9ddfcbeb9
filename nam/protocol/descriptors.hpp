/// Other descriptors of the same file.
#pragma once

#include "engine/base/shared_memory.hpp"

namespace mpixrma::nam {

/// An open file of its own, which the kernel tells apart from others of the same file: it has its own locks,
/// and counts as an opener of the file until the last copy of it is closed and unmapped. Throws
/// Error(unavailable).
engine::FileDescriptor reopened(int descriptor);

/// Whether there is any open file of the memory besides those that memfd_create() has made: one that
/// reopened() has made for a client, or that a process has opened for itself, as long as some process has a
/// descriptor or a mapping of it. The caller owns the memory, or may become its owner (CAP_SETUID); otherwise
/// false.
bool is_open_elsewhere(int memory) noexcept;

}  // namespace mpixrma::nam
