/// Touching memory of this process that may not be there.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/base/access.hpp"

namespace mpixrma::engine {

enum class Touched : std::uint8_t {
  all,  ///< every page
  not_all,
  unknown  ///< this thread cannot touch what may not be there
};

/// Reads a byte of every page of [begin, end), which is not empty; Access::write: and writes it, without
/// changing it and without taking part in a data race. The thread survives the fault: see
/// engine/memory/fault_guard.hpp. A thread that blocks SIGSEGV or SIGBUS touches nothing. Outside of a
/// FaultScope each call asks the system whether it does, unless the range lies in the neighbouring pages that
/// the thread touched last, for reading or for writing. A thread that has blocked the signals since, where
/// one of those pages has gone since, does not survive: no processor tells whether an access would fault, and
/// the mask stands in the kernel only.
Touched touch(std::uintptr_t begin, std::uintptr_t end, std::size_t page, Access access) noexcept;

}  // namespace mpixrma::engine
