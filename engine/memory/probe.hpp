/// Checks whether memory of this process can be accessed.
#pragma once

#include <cstddef>

namespace mpixrma::engine {

/// Returns whether every byte of [address, address + bytes) is mapped and readable (`write`: writable). Few
/// pages are touched (engine/memory/touch.hpp), many pages need a system call. Does not protect memory that
/// another thread unmaps concurrently.
bool accessible(void const* address, std::size_t bytes, bool write) noexcept;

}  // namespace mpixrma::engine
