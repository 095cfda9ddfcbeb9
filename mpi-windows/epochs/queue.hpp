/// Queues of calls whose targets may not be accessed yet.
#pragma once

#include <memory>

#include "mpi-windows/state/queue.hpp"
#include "mpi-windows/state/window.hpp"

namespace mpixrma::windows {

/// Returns the queue of the target. It is made before other threads see that the target has one.
TargetQueue& queue_of(Target& target);
/// Queues the calls on the target from now on, until the event has come.
void begin_queue(Window& window, Target& target, Awaited awaited);
/// Queues later calls on an open target while messages to it wait for a lock
/// (EngineLocks::acquire_in_stream).
void queue_behind_lock(Window& window, Target& target);
/// Removes the target from those whose queues are served.
void remove_queue(Target& target);
/// Queues a call until the target is open, or issues it if it is. Returns an error code of the call.
int enqueue(Window& window, Target& target, std::unique_ptr<QueuedCall> call);
/// Issues the calls in the queue of a target if they may be issued now. Afterwards the target is open, unless
/// a failure waits to be reported. Returns the number of calls.
int serve_queue(Window& window, Target& target);
/// Issues the queued calls of all windows that may be issued. For threads without stripes. Returns how
/// many.
int serve_queues();
/// Whether all calls in the queue are issued.
bool is_drained(Target const& target);
/// Waits until all calls in the queue are issued. Returns their first failure, or that of the lock.
int wait_for_queue(Window& window, Target& target);
/// As above, for all targets.
int wait_for_queues(Window& window);
/// Refuses the queued calls of an epoch whose posts never arrive.
void abandon_queues(Window& window);

}  // namespace mpixrma::windows
