/// Order and completion of operations in passive-target epochs.
#pragma once

#include <mpi.h>

#include <atomic>

#include "mpi-windows/epochs/completion.hpp"
#include "mpi-windows/state/window.hpp"

namespace mpixrma::windows {

int flush_slow_path(Window& window, int rank, Level level, char const* call);
/// Applies report() to its result, as lock_target() does. `call` is the MPI call's name.
inline int flush(Window& window, int rank, Level level, char const* call) {
  Target const& recent = window.targets.recent(rank);
  if (recent.access.load(std::memory_order_relaxed) == EpochAccess::open && window.epoch.is_passive() &&
      !recent.outstanding.is_set() && !recent.is_lost()) [[likely]] {
    if (level == Level::remote) window.stores.complete();
    return MPI_SUCCESS;
  }
  return flush_slow_path(window, rank, level, call);
}
int flush_all(Window& window, Level level);
/// Orders earlier operations before later ones.
int order(Window& window, int rank);
int order_all(Window& window);
/// Flushes that return a request instead of waiting.
int iflush(Window& window, int rank, Level level, MPI_Request* request);
int iflush_all(Window& window, Level level, MPI_Request* request);
/// Starts the completion that flush_all() waits for, without waiting.
int begin_flush_all(Window& window);
/// Waits until no aggregate request is pending.
void wait_for_aggregate_requests(Window& window);
int sync(Window& window);

}  // namespace mpixrma::windows
