/// Checks whether memory of this process can be accessed.
#pragma once

#include <cstddef>

#include "engine/base/access.hpp"

namespace mpixrma::engine {

/// Returns whether every byte of [address, address + bytes) is mapped and permits the access. Touches a few
/// pages (engine/memory/touch.hpp); for many, or if this thread would not survive a fault, makes a system
/// call, which also allocates them. Another thread may unmap the memory at any time.
bool accessible(void const* address, std::size_t bytes, Access access) noexcept;

}  // namespace mpixrma::engine
