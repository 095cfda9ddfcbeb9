/// Whether memory of this process can be touched, without touching it and without a signal handler.
#pragma once

#include <cstddef>

namespace mpix::engine {

/// True when every byte of [address, address + bytes) is mapped and readable (`write`: writable).
/// One system call in the common case. Memory that another thread unmaps meanwhile is not protected.
bool accessible(void const* address, std::size_t bytes, bool write) noexcept;

}  // namespace mpix::engine
