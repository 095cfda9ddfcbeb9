/// Whether memory of this process can be touched.
#pragma once

#include <cstddef>

namespace mpixrma::engine {

/// True when every byte of [address, address + bytes) is mapped and readable (`write`: writable).
/// Of few pages they are touched (engine/memory/touch.hpp), for many the system is called. Memory that
/// another thread unmaps meanwhile is not protected.
bool accessible(void const* address, std::size_t bytes, bool write) noexcept;

}  // namespace mpixrma::engine
