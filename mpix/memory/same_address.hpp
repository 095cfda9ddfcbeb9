/// Memory at one address in all processes of a communicator.
#pragma once

#include <mpi.h>

#include <cstddef>

#include "engine/base/remote_address.hpp"

namespace mpixrma {

/// The memory that a process asks for.
struct MemoryNeed {
  std::size_t bytes = 0;
  std::size_t alignment = 0;  ///< 0: none in particular
};

/// Collective: returns the same address at all processes, such that the range that begins there is unused at
/// each of them and suffices for the largest need; 0 if none was found. The range is not reserved.
engine::RemoteAddress agree_on_address(MPI_Comm comm, MemoryNeed const& need);

}  // namespace mpixrma
