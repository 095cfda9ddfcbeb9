/// Queues of calls whose targets may not be accessed yet.
#pragma once

#include <memory>

#include "mpi-windows/state/queue.hpp"
#include "mpi-windows/state/window.hpp"

namespace mpixrma::windows {

/// Returns the queue of the target. The first call creates the queue, before other threads see the target as
/// queued.
TargetQueue& queue_of(Target& target);
/// Queues the calls on the target from now on, until the awaited event has occurred.
void begin_queue(Window& window, Target& target, Awaited awaited);
/// Queues later calls on an open target if messages to it wait for an in-stream lock
/// (EngineLocks::acquire_in_stream).
void queue_behind_lock(Window& window, Target& target);
/// Removes the target from those whose queues are served, and closes it, once no thread serves its queue.
void remove_queue(Window& window, Target& target);
/// Queues a call if the target is queued; otherwise issues the call and returns its error code.
int enqueue(Window& window, Target& target, std::unique_ptr<QueuedCall> call);
/// Issues the calls in the queue of a target if they may be issued now. The target is open once all are
/// issued, unless a failure is still to be reported. Returns the number of calls.
int serve_queue(Window& window, Target& target);
/// Issues the queued calls of all windows that may be issued. Not to be called while the thread holds
/// stripes. Returns the number of calls.
int serve_queues();
/// Whether the awaited event has occurred and all calls in the queue are issued.
bool is_drained(Target const& target);
/// Removes and returns the first failure of the calls that the queue has issued, or MPI_SUCCESS.
int take_queue_failure(Target& target);
/// Waits until the awaited event has occurred and all calls in the queue are issued. Returns the first
/// failure of a call, or that of the lock.
int wait_for_queue(Window& window, Target& target);
/// As wait_for_queue(), for all targets.
int wait_for_queues(Window& window);
/// Refuses the queued calls of an epoch whose posts never arrive.
void abandon_queues(Window& window);

}  // namespace mpixrma::windows
