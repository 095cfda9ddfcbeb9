/// Completion of the operations that a window has issued.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "mpi-windows/state/store_fence.hpp"
#include "mpi-windows/state/window.hpp"

namespace mpixrma::windows {

/// The level of completion: at the origin or at the target.
enum class Level : std::uint8_t { local, remote };

/// Returns the error of operations by load and store on memory of a process that has ended, or MPI_SUCCESS.
int loss_of(Window const& window, Target const& target);
/// As loss_of(), for all targets whose loss it has not returned before.
int report_losses(Window& window);
/// Returns the error of an epoch that waits for the process of the rank, which has ended or is out of reach.
int loss_of_process(Window const& window, int rank);
/// Waits until the messages to `target` are complete there; returns the first failure.
int complete_messages(Window& window, Target& target);
/// Waits until the messages to `target` are complete there. The next completion returns their failures.
void wait_for_messages(Window& window, Target& target);
/// Waits until all operations issued to `target` are complete there; returns the first failure.
inline int complete_target(Window& window, Target& target) {
  if (target.outstanding.is_set()) return complete_messages(window, target);
  window.stores.complete();
  return MPI_SUCCESS;
}
/// As complete_target(), for all targets.
int complete_all(Window& window);
/// Returns the first failure of messages to `target` that has arrived and was not returned before, or
/// MPI_SUCCESS.
int take_failure(Window& window, Target& target);
/// Waits until the buffers of all operations issued to `target` may be reused.
void complete_locally(Window& window, Target& target);
/// Removes all late errors of the window and returns the first one, or MPI_SUCCESS.
int take_failures(Window& window);
/// Called after a synchronisation, when all operations and signals of the window are executed, even those
/// whose acknowledgement has not arrived: from here on, the end of a target process is no failure of them.
void forget_executed(Window& window);

}  // namespace mpixrma::windows
