#include "mpi-windows/epochs/signals.hpp"

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

/// Raises a counter of arrivals and sets its failure mark.
void signal_failure(Window& window, Target& target, std::size_t offset) {
  static constexpr std::uint64_t step = failure_mark + 1;
  if (target.control != nullptr) {
    // Release: pairs with the acquires of the waiting processes.
    reinterpret_cast<Counter*>(target.control + offset)->fetch_add(step, std::memory_order_acq_rel);
    return;
  }
  engine::RmaOp raise =
      counter_update(window, target, offset, engine::ReduceOp::sum, engine::ElementType::uint64);
  raise.origin = engine::read_only(&step);
  raise.origin_layout = raise.target_layout;
  (void)window.engine.issue(*target.process, raise);
}

/// A dissemination barrier: after round k a process knows that 2^(k+1) processes have arrived. raise(target,
/// offset) raises the arrival counter of the successor; examine(arrivals) examines the local arrival counter.
template <typename Raise, typename Examine>
void disseminate(Window& window, Raise raise, Examine examine) {
  ++window.control.barriers;
  unsigned round = 0;
  for (std::int64_t distance = 1; distance < window.processes.size; distance *= 2, ++round) {
    if (Target* const next = find_target(window, window.processes.successor(distance)))
      raise(*next, window.control.layout.arrival(round));
    Counter& arrivals = window.control.counter(window.control.layout.arrival(round));
    await(window, [&] { return arrivals.load(std::memory_order_acquire) >= window.control.barriers; });
    examine(arrivals);
  }
}

}  // namespace

void signal(Window& window, Target& target, std::size_t offset, engine::ElementType type) {
  if (target.control != nullptr) {
    std::byte* const counter = target.control + offset;
    // Release: pairs with the acquires of the waiting processes.
    if (type == engine::ElementType::uint8)
      reinterpret_cast<PostCounter*>(counter)->fetch_add(1, std::memory_order_acq_rel);
    else
      reinterpret_cast<Counter*>(counter)->fetch_add(1, std::memory_order_acq_rel);
    return;
  }
  (void)window.engine.issue(*target.process,
                            counter_update(window, target, offset, engine::ReduceOp::increment, type));
}

void synchronise(Window& window) {
  if (!window.processes.is_connected()) return barrier(window);
  PMPI_Barrier(window.processes.connected_comm);
}

void barrier(Window& window) {
  disseminate(
      window, [&](Target& next, std::size_t at) { signal(window, next, at, engine::ElementType::uint64); },
      [](Counter const&) {});
}

bool barrier_with_failure(Window& window, bool failed) {
  disseminate(
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
  return failed;
}

void find_successors(Window& window) {
  for (std::int64_t distance = 1; distance < window.processes.size; distance *= 2)
    (void)find_target(window, window.processes.successor(distance));
}

}  // namespace mpixrma::windows
