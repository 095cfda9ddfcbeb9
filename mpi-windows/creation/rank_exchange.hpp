/// Exchange of the processes' entries in the rank table.
#pragma once

#include <mpi.h>

#include "mpi-windows/state/rank_table.hpp"
#include "mpi-windows/state/window.hpp"

namespace mpixrma::windows {

/// Collective: fills the table. Returns the highest error class of all processes.
int gather(Window& window, MPI_Comm comm, RankEntry& mine);
/// As gather() of the other processes, at a process that has no memory for the window.
int gather_failure(MPI_Comm comm, int error_class);
/// The first rank on each host stores the table for all ranks of the host.
void share_rank_table(Window& window);

}  // namespace mpixrma::windows
