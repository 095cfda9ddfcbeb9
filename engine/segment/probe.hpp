/// Whether memory of this process can be touched.
#pragma once

#include <cstddef>

namespace mpix::engine {

/// True when every byte of [address, address + bytes) is mapped and readable (`write`: writable).
/// Of few pages they are touched (engine/segment/touch.hpp), for many the system is called. Memory that
/// another thread unmaps meanwhile is not protected.
bool accessible(void const* address, std::size_t bytes, bool write) noexcept;

/// Whether it can be read, of memory that is not to be used at once: of a large range that was never used no
/// pages are made, but of files.
bool is_there(void const* address, std::size_t bytes) noexcept;

}  // namespace mpix::engine
