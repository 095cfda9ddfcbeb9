/// The table that MPIX_RMA_STATISTICS requests: the protocols that operations took, by rank, for MPIX_RMA
/// calls and for windows.
#pragma once

#include "engine/base/visibility.h"
#include "engine/op/statistics.hpp"
#include "hosts/common/hosted.h"

namespace mpixrma {

/// Returns this process's counters for a rank of `comm` (of the remote group for an intercommunicator).
MPIX_ENGINE_API engine::Traffic traffic_with(mpix_handle_t comm, int rank);

/// Enables the counting of operations if the environment requests the table. Returns whether it does.
MPIX_ENGINE_API bool begin_statistics();

/// The first call in a process prints the table, if the environment requests it; later ones do nothing.
/// `world` has `size` ranks; `self` is the rank of this process.
MPIX_ENGINE_API void print_statistics(mpix_handle_t world, int self, int size);

}  // namespace mpixrma
