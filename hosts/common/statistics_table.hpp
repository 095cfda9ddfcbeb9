/// The table that MPIX_RMA_STATISTICS asks for: which path operations took, rank by rank, of MPIX_RMA calls
/// and of windows.
#pragma once

#include "engine/base/visibility.h"
#include "engine/op/statistics.hpp"
#include "hosts/common/hosted.h"

namespace mpixrma {

/// Counters of this process for a rank of `comm` (of the remote group for an intercommunicator).
MPIX_ENGINE_API engine::Traffic traffic_with(mpix_handle_t comm, int rank);

/// Has every operation counted from here on, where the environment asks for the table. True: it does.
MPIX_ENGINE_API bool begin_statistics();

/// Prints the table, where the environment asks for it, by the first call of the process. `world`: of `size`
/// ranks, of which this process is `self`.
MPIX_ENGINE_API void print_statistics(mpix_handle_t world, int self, int size);

}  // namespace mpixrma
