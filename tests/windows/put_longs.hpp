/// Puts of longs: large ones exceed one message and, to memory of the host that is not mapped, are copied by
/// the kernel.
#pragma once

#include <mpi.h>

#include "tests/windows/support.hpp"

namespace mpixrma::test {

inline constexpr int longs = 16384;
inline constexpr MPI_Aint bytes_of_longs = longs * static_cast<MPI_Aint>(sizeof(long));

inline int put(long const* values, int count, int rank, MPI_Aint at, Window const& window) {
  return MPI_Put(values, count, MPI_LONG, rank, at, count, MPI_LONG, window);
}

}  // namespace mpixrma::test
