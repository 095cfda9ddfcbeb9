/// Memory of a window at its processes.
#pragma once

#include <mpi.h>

#include "mpi-windows/state/rank_table.hpp"
#include "mpi-windows/state/window.hpp"

namespace mpixrma::windows {

/// Allocates the counters and the lock that other processes use for synchronisation.
int make_control(Window& window, RankEntry& mine);
/// Allocates this process's memory, unless the program passes memory, and exposes it. Passed memory of
/// another process is not exposed again: `mine` refers to the existing exposure.
int make_memory(Window& window, MPI_Comm comm, mpix_window_memory& memory, RankEntry& mine);
/// Whether one process allocates the memory of all.
bool shares_one_allocation(Window const& window) noexcept;
/// Makes one allocation at rank 0 that contains the parts of all processes in rank order.
int allocate_for_all(Window& window, MPI_Comm comm, mpix_window_memory& memory);
int shared_query(Window& window, int rank, MPI_Aint* size, int* disp_unit, void** base);
int attach(Window& window, void* base, MPI_Aint size);
int detach(Window& window, void const* base);

}  // namespace mpixrma::windows
