/// Touches memory of this process that may be unmapped.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/base/access.hpp"

namespace mpixrma::engine {

enum class Touched : std::uint8_t {
  all,  ///< every page
  not_all,
  unknown  ///< this thread would not survive a fault, so it has touched nothing
};

/// Reads a byte of every page of [begin, end), which is not empty; for Access::write also writes the same
/// value back, atomically. The thread survives a fault (engine/memory/fault_guard.hpp); a thread that blocks
/// SIGSEGV or SIGBUS touches nothing. Unless admit_faults() has succeeded in the thread's FaultScope, each
/// call asks the system whether the thread blocks them, except for a range in the adjacent pages that the
/// thread touched last for this access or for writing. If the thread has blocked the signals since, and one
/// of those pages has been unmapped since, the fault ends the process: no instruction tells whether an access
/// would fault, and only the kernel knows the mask.
Touched touch(std::uintptr_t begin, std::uintptr_t end, std::size_t page, Access access) noexcept;

}  // namespace mpixrma::engine
