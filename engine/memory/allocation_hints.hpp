/// Hints for an allocation.
#pragma once

#include <cstddef>

namespace mpixrma::engine {

/// Requirements of allocate() beyond the number of bytes.
struct AllocationHints {
  std::size_t alignment = 0;  ///< a power of two in bytes; values below the default have no effect
  bool huge_pages = false;    ///< use them if available; large allocations use them by default
  bool lazy = false;          ///< pages are allocated at first touch, if any are left then
};

}  // namespace mpixrma::engine
