/// Which path operations took, rank by rank: what MPIX_RMA_Statistics tells, and the table of
/// MPIX_RMA_STATISTICS.
#pragma once

#include <mpi.h>

#include "engine/engine.hpp"

namespace mpix {

/// What this process has exchanged with a rank of `comm` (of the remote group for an intercommunicator).
engine::Traffic traffic_with(MPI_Comm comm, int rank);

/// Has every operation counted from here on, where the environment asks for the table.
void begin_statistics();

/// Prints the table, where the environment asks for it.
void print_statistics();

}  // namespace mpix
