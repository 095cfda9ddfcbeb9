/// Hints for an allocation.
#pragma once

#include <cstddef>

#include "engine/base/remote_address.hpp"

namespace mpixrma::engine {

/// Requirements of allocate() beyond the number of bytes.
struct AllocationHints {
  std::size_t alignment = 0;  ///< a power of two in bytes; values below the default have no effect
  bool huge_pages = false;    ///< use them if available; large allocations use them by default
  bool lazy = false;          ///< pages are allocated at first touch, if any are left then
  /// The address of the memory, a multiple of its alignment and of the page size; 0: any. Fails with
  /// bad_address if something else is mapped there.
  RemoteAddress address = 0;
  bool internal = false;  ///< state of the library: not listed among the memory of the program
};

}  // namespace mpixrma::engine
