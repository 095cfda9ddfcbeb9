#include "mpi-windows/epochs/signals.hpp"

#include <array>
#include <new>

#include "mpi-windows/epochs/completion.hpp"
#include "mpi-windows/state/targets.hpp"

namespace mpixrma::windows {

namespace {

/// Returns an update of a counter in the target's control memory.
engine::RmaOp counter_update(Window const& window, Target const& target, std::size_t offset,
                             engine::ReduceOp reduce_op, engine::ElementType type) {
  engine::RmaOp update = engine::update_with(reduce_op, type);
  update.flags = engine::OpFlags::element_atomic | engine::OpFlags::delayed_ack;
  update.context = window.context;
  update.target = offset;
  update.exposed.target = target.control_exposure;
  update.target_layout = engine::Layout::contiguous(engine::element_size(type));
  update.is_internal = true;  // not an operation of the program, so it is not counted
  return update;
}

/// Issues a signal. If the signal is not sent, the exchange of messages with the target ends, so that the
/// target's wait fails.
void send_signal(Window& window, Target& target, engine::RmaOp const& raise) {
  try {
    if (!engine::failed(window.engine.issue(*target.process, raise).status)) return;
  } catch (std::bad_alloc const&) {
  }
  window.engine.peers.mark_unreachable_by_messages(*target.process);
}

/// Adds to a mapped counter. Release: pairs with the acquires of the waiting processes. Acquire: these also
/// see what this process has seen of earlier signals.
template <typename Value>
void add(std::atomic<Value>& counter, Value step) noexcept {
  counter.fetch_add(step, std::memory_order_acq_rel);
}

/// Raises a counter of arrivals and sets its failure mark.
void signal_failure(Window& window, Target& target, std::size_t offset) {
  static constexpr std::uint64_t step = failure_mark + 1;
  if (target.control != nullptr) {
    add(*reinterpret_cast<Counter*>(target.control + offset), step);
    return;
  }
  engine::RmaOp raise =
      counter_update(window, target, offset, engine::ReduceOp::sum, engine::ElementType::uint64);
  raise.origin = engine::read_only(&step);
  raise.origin_layout = raise.target_layout;
  send_signal(window, target, raise);
}

/// Waits until the predecessor has raised the counter of arrivals, or none of its signals arrives any more.
/// Returns whether the counter is raised.
bool await_arrival(Window& window, Counter const& arrivals, std::uint64_t predecessor) {
  // Acquire: pairs with the releases of signal().
  auto const has_arrived = [&] {
    return arrivals.load(std::memory_order_acquire) >= window.control.barriers;
  };
  unsigned polls = 0;
  bool is_lost = false;
  await(window, [&] {
    if (has_arrived()) return true;
    if (++polls % polls_before_losses == 0) is_lost = window.engine.peers.is_silent(predecessor);
    return is_lost;
  });
  return has_arrived();  // a signal may have arrived before the loss
}

constexpr std::size_t max_rounds = 32;  // for any number of ranks

int predecessor_of(Window const& window, std::int64_t distance) noexcept {
  return window.processes.successor(window.processes.size - distance);
}

/// A dissemination barrier: after round k a process knows that 2^(k+1) processes have arrived. raise(target,
/// offset) raises the arrival counter of the successor; examine(arrivals) examines the local arrival counter.
/// A process continues without the signals of lost processes, so that others do not wait for its own.
template <typename Raise, typename Examine>
int disseminate(Window& window, Raise raise, Examine examine) {
  ++window.control.barriers;
  // Read before the first signal, as find_successors() does.
  std::array<std::uint64_t, max_rounds> predecessors{};
  unsigned round = 0;
  for (std::int64_t distance = 1; distance < window.processes.size; distance *= 2)
    predecessors[round++] = window.table[predecessor_of(window, distance)].process;
  int error = MPI_SUCCESS;
  round = 0;
  for (std::int64_t distance = 1; distance < window.processes.size; distance *= 2, ++round) {
    Target* const next = find_target(window, window.processes.successor(distance));
    if (next != nullptr) raise(*next, window.control.layout.arrival(round));
    Counter& arrivals = window.control.counter(window.control.layout.arrival(round));
    if (!await_arrival(window, arrivals, predecessors[round]))
      error = first_of(error, loss_of_process(window, predecessor_of(window, distance)));
    bool const is_told =
        next != nullptr && (next->control != nullptr || !next->process->is_unreachable_by_messages());
    if (!is_told) error = first_of(error, loss_of_process(window, window.processes.successor(distance)));
    examine(arrivals);
  }
  return error;
}

}  // namespace

void signal(Window& window, Target& target, std::size_t offset, engine::ElementType type) {
  if (target.control != nullptr) {
    std::byte* const counter = target.control + offset;
    if (type == engine::ElementType::uint8)
      add(*reinterpret_cast<PostCounter*>(counter), std::uint8_t{1});
    else
      add(*reinterpret_cast<Counter*>(counter), std::uint64_t{1});
    return;
  }
  send_signal(window, target, counter_update(window, target, offset, engine::ReduceOp::increment, type));
}

int synchronise(Window& window) {
  if (!window.processes.is_connected()) return barrier(window);
  return PMPI_Barrier(window.processes.connected_comm);
}

int barrier(Window& window) {
  return disseminate(
      window, [&](Target& next, std::size_t at) { signal(window, next, at, engine::ElementType::uint64); },
      [](Counter const&) {});
}

bool barrier_with_failure(Window& window, bool failed, int* loss) {
  *loss = disseminate(
      window,
      [&](Target& next, std::size_t at) {
        failed ? signal_failure(window, next, at) : signal(window, next, at, engine::ElementType::uint64);
      },
      // The mark can be cleared: later arrivals belong to the next barrier, which carries no failures.
      [&](Counter& arrivals) {
        if (arrivals.load(std::memory_order_relaxed) < failure_mark) return;
        arrivals.fetch_and(failure_mark - 1, std::memory_order_relaxed);
        failed = true;
      });
  return failed || *loss != MPI_SUCCESS;
}

void find_successors(Window& window) {
  for (std::int64_t distance = 1; distance < window.processes.size; distance *= 2)
    (void)find_target(window, window.processes.successor(distance));
}

}  // namespace mpixrma::windows
