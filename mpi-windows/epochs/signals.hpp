/// Signals between the processes of a window, in their control memory.
#pragma once

#include <cstddef>

#include "engine/base/backoff.hpp"
#include "mpi-windows/epochs/queue.hpp"
#include "mpi-windows/state/window.hpp"

namespace mpixrma::windows {

/// Polls a local counter for as long as processes of this host usually take to raise it. Tests only once if
/// some process raises counters by messages, and not at all if waits yield the processor.
template <typename Predicate>
bool poll_briefly(Window& window, Predicate done) {
  constexpr unsigned quick_spins = 256;
  if (window.control.by_messages.load(std::memory_order_relaxed)) return done();
  for (unsigned spins = 0; spins < quick_spins && !window.engine.waits.yields_when_idle(); ++spins) {
    if (done()) return true;
    engine::cpu_relax();
  }
  return false;
}

/// Polls between two searches for lost processes: more than those of poll_briefly(), in which signals usually
/// arrive.
inline constexpr unsigned polls_before_losses = 512;

/// Waits until other processes have raised a local counter.
template <typename Predicate>
void await(Window& window, Predicate done) {
  if (poll_briefly(window, done)) return;
  window.engine.waits.until([&] {
    (void)serve_queues();
    return done();
  });
}

/// Raises a counter of the target, ordered after all earlier stores of this process.
void signal(Window& window, Target& target, std::size_t offset, engine::ElementType type);
/// Waits until all processes of the window, or all that are connected to it, have called. Fails as barrier().
int synchronise(Window& window);
/// Waits until all processes of the window have called. Fails at the processes that exchange signals with a
/// process that has ended, or is out of reach.
int barrier(Window& window);
/// A barrier that returns at all processes whether `failed` is true at any. Must be followed by a barrier().
/// `*loss` is the error that barrier() would return.
bool barrier_with_failure(Window& window, bool failed, int* loss);
/// Looks up the barrier's successors in the rank table before the last barrier: the process that stores the
/// host's table may leave the barrier, and free the table, while others still need it.
void find_successors(Window& window);

}  // namespace mpixrma::windows
