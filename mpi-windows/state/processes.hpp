/// The processes of a window.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

namespace mpixrma::windows {

struct Processes {
  int rank = 0;  ///< rank of this process; MPI_PROC_NULL if the window is connected
  int size = 0;  ///< number of targets
  MPI_Group group = MPI_GROUP_NULL;
  /// The processes that are connected to existing memory at a server, and are not its targets; else null.
  MPI_Comm connected_comm = MPI_COMM_NULL;

  bool is_connected() const noexcept { return connected_comm != MPI_COMM_NULL; }
  bool contains(int target) const noexcept { return target >= 0 && target < size; }
  int successor(std::int64_t distance) const noexcept { return static_cast<int>((rank + distance) % size); }
  /// Returns the ranks of the members of another group; MPI_UNDEFINED for a process outside of the window.
  std::vector<int> ranks_of(MPI_Group members) const;
};

}  // namespace mpixrma::windows
