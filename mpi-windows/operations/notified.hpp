/// Counters that notified operations increment at their targets.
#pragma once

#include <mpi.h>

#include "mpi-windows/state/window.hpp"

namespace mpixrma::windows {

/// Sets the number of this process's counters, which may differ between processes. Collective.
int set_counters(Window& window, int count);
CounterBounds counter_bounds(Window const& window) noexcept;
/// Determines the number of counters of a process. Returns an error class.
int count_counters(Window& window, int rank, int* count);
/// Determines the address of a target's counter. Returns an error class.
int find_counter(Window& window, Target& target, int index, engine::RemoteAddress* address);
/// Returns the error of a queued operation for which find_counter() has returned MPI_ERR_ARG.
int missing_counter(Target const& target, int index);
/// Waits until all operations issued to the target are complete, then increments the counter and waits for
/// the increment.
int complete_and_notify(Window& window, Target& target, engine::RemoteAddress counter, MPI_Request* request);

}  // namespace mpixrma::windows
