/// Touching memory of this process that may not be there.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mpix::engine {

enum class Touched : std::uint8_t {
  all,  ///< every page
  not_all,
  unknown  ///< this thread cannot touch what may not be there
};

/// Reads a byte of every page of [begin, end), which is not empty; `write`: and writes it, without changing
/// it and without taking part in a data race. What faults comes back to here by a handler of SIGSEGV and
/// SIGBUS, which is there from the first call on and leaves all other faults to the one that was there
/// before. A thread that keeps these signals blocked touches nothing.
Touched touch(std::uintptr_t begin, std::uintptr_t end, std::size_t page, bool write) noexcept;

}  // namespace mpix::engine
