/// Wishes of an allocation.
#pragma once

#include <cstddef>

namespace mpixrma::engine {

/// What the caller of allocate() asks for beyond a number of bytes.
struct AllocationHints {
  std::size_t alignment = 0;  ///< bytes, a power of two; less than what is usual: no matter
  bool huge_pages = false;    ///< where the system has them; large allocations ask for them without it
  bool lazy = false;  ///< pages are taken where and when they are touched first, if there are any then
};

}  // namespace mpixrma::engine
