/// The kernel's map of this process's memory.
#pragma once

#include <cstddef>

#include "engine/base/status.hpp"

namespace mpixrma::engine {

/// Access rights of the process to every byte of a range.
struct MemoryRights {
  bool mapped = false;  ///< the range has no gap, and no file ends within it
  bool readable = false;
  bool writable = false;
};

/// Reads the kernel's map: allocates no pages and takes no lock of the engine. If the size of a mapped file
/// cannot be determined, its last page is read. The time grows with the number of mappings, not with `bytes`.
/// Another thread may change the mapping at any time.
MemoryRights rights_of(void const* begin, std::size_t bytes) noexcept;

/// Returns the reason why an access to the range fails: not_writable if it can be read, else bad_address.
Status reason_for_fault(void const* begin, std::size_t bytes, bool write) noexcept;

}  // namespace mpixrma::engine
