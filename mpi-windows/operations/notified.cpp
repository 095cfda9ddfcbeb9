#include "mpi-windows/operations/notified.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "mpi-windows/epochs/completion.hpp"
#include "mpi-windows/epochs/signals.hpp"
#include "mpi-windows/operations/operation.hpp"
#include "mpi-windows/state/error.hpp"
#include "mpi-windows/state/failure.hpp"
#include "mpi-windows/state/targets.hpp"

namespace mpixrma::windows {

namespace {

/// Set by the library that makes the notified calls, which has an error class of its own.
std::atomic<int> missing_counter_class{MPI_ERR_ARG};

/// Makes counters that are all zero. No memory is allocated for a count of 0.
int make_counters(Window& window, int count, std::uint64_t** base) {
  if (count == 0) return MPI_SUCCESS;
  std::size_t const bytes = static_cast<std::size_t>(count) * sizeof(std::uint64_t);
  void* made = nullptr;
  if (int const error = class_of(window, window.engine.memory.allocate_internal(bytes, &made));
      error != MPI_SUCCESS)
    return error;
  *base = static_cast<std::uint64_t*>(std::memset(made, 0, bytes));
  return MPI_SUCCESS;
}

/// Replaces the counters of this process.
void replace_counters(Window& window, std::uint64_t* base, int count) {
  window.counters.release(window.engine);
  window.counters.base = base;
  window.counters.count = count;
  window.control.counter(window.control.layout.notifications())
      .store(reinterpret_cast<std::uint64_t>(base), std::memory_order_relaxed);
  window.control.counter(window.control.layout.notifications() + sizeof(Counter))
      .store(static_cast<std::uint64_t>(window.counters.count), std::memory_order_relaxed);
}

/// Reads the location of the target's counters if the counters were replaced since the last call. Called with
/// Window::creation held.
int fetch_counters(Window& window, Target& target) {
  if (target.counters_round == window.counters.round) return MPI_SUCCESS;
  std::uint64_t received[2] = {};
  if (target.control != nullptr) {
    std::memcpy(received, target.control + window.control.layout.notifications(), sizeof received);
  } else {
    engine::RmaOp read;
    read.kind = engine::OpKind::get;
    read.context = window.context;
    read.origin = reinterpret_cast<std::byte*>(received);
    read.origin_layout = engine::Layout::contiguous(sizeof received);
    read.target = window.control.layout.notifications();
    read.exposed.target = target.control_exposure;
    read.target_layout = read.origin_layout;
    if (int const error = class_of(window, issue_alone(window, *target.process, read)); error != MPI_SUCCESS)
      return error;
  }
  target.counters = received[0];
  target.counters_count = received[1];
  target.counters_round = window.counters.round;
  return MPI_SUCCESS;
}

}  // namespace

/// The suggested number of counters fills a page.
CounterBounds counter_bounds(Window const& window) noexcept {
  if (window.processes.is_connected()) return {0, 0};
  int const most = engine::EngineCounters::most;
  int const asserted = std::min(window.hints.counters(), most);
  return asserted != 0 ? CounterBounds{asserted, asserted} : CounterBounds{512, most};
}

/// Collective also for a process whose arguments are invalid: it keeps its counters, takes part in the
/// barriers, and fetches the others' new addresses when it next uses their counters. If one process cannot
/// allocate counters, all processes keep the counters that they have.
int set_counters(Window& window, int count) {
  if (window.processes.is_connected()) return MPI_ERR_UNSUPPORTED_OPERATION;  // the targets are not processes
  int error = MPI_SUCCESS;
  if (!window.epoch.permits_fence()) error = MPI_ERR_RMA_SYNC;
  if (count < window.counters.count || count > counter_bounds(window).max) error = MPI_ERR_ARG;
  std::uint64_t* made = nullptr;
  int const allocated = error == MPI_SUCCESS ? make_counters(window, count, &made) : MPI_SUCCESS;
  int loss = MPI_SUCCESS;
  if (barrier_with_failure(window, allocated != MPI_SUCCESS, &loss)) {  // no process uses the old counters
    if (made != nullptr) (void)window.engine.memory.free(made);
    loss = first_of(loss, barrier(window));
    return first_of(first_of(error, allocated), first_of(loss, MPI_ERR_NO_MEM));
  }
  if (error == MPI_SUCCESS) replace_counters(window, made, count);
  {
    std::lock_guard const held(window.creation);
    ++window.counters.round;
  }
  int const lost = barrier(window);  // publishes the new counters to the others
  return first_of(error, lost);
}

int count_counters(Window& window, int rank, int* count) {
  if (!window.processes.contains(rank)) return MPI_ERR_RANK;
  *count = window.counters.count;
  if (window.processes.is_connected() || rank == window.processes.rank) return MPI_SUCCESS;
  Target* const known = find_target(window, rank);
  if (known == nullptr) return MPI_ERR_OTHER;
  std::lock_guard const held(window.creation);
  int const error = fetch_counters(window, *known);
  if (error == MPI_SUCCESS) *count = static_cast<int>(known->counters_count);
  return error;
}

int find_counter(Window& window, Target& target, int index, engine::RemoteAddress* address) {
  if (window.processes.is_connected()) return MPI_ERR_UNSUPPORTED_OPERATION;
  std::lock_guard const held(window.creation);
  if (int const error = fetch_counters(window, target); error != MPI_SUCCESS) return error;
  if (index < 0 || static_cast<std::uint64_t>(index) >= target.counters_count) return MPI_ERR_ARG;
  *address = target.counters + static_cast<std::uint64_t>(index) * sizeof(std::uint64_t);
  return MPI_SUCCESS;
}

int missing_counter(Target const& target, int index) {
  return code_with(missing_counter_class.load(std::memory_order_relaxed),
                   "a notified operation on rank %d failed: the rank has no notification counter %d",
                   target.rank, index);
}

int complete_and_notify(Window& window, Target& target, engine::RemoteAddress counter, MPI_Request* request) {
  wait_for_messages(window, target);
  engine::RmaOp raise = engine::update_with(engine::ReduceOp::increment, engine::ElementType::uint64);
  raise.flags = engine::OpFlags::element_atomic;
  raise.target = counter;
  raise.target_layout = engine::Layout::contiguous(sizeof(std::uint64_t));
  engine::Status const status = issue_alone(window, *target.process, raise);
  if (request != nullptr && !engine::failed(status)) *request = completed_request();
  return class_of(window, status);
}

}  // namespace mpixrma::windows

using namespace mpixrma::windows;

namespace {
Window& of(mpix_window_t* handle) noexcept { return *static_cast<Window*>(handle); }
}  // namespace

int mpix_window_set_counters(mpix_window_t* window, int count) try {
  return set_counters(of(window), count);
} catch (...) {
  return class_of_exception();
}
void mpix_window_counter_bounds(const mpix_window_t* window, int* suggested, int* most) {
  CounterBounds const bounds = counter_bounds(*static_cast<Window const*>(window));
  *suggested = bounds.suggested;
  *most = bounds.max;
}
int mpix_window_num_counters(mpix_window_t* window, int rank, int* count) try {
  return count_counters(of(window), rank, count);
} catch (...) {
  return class_of_exception();
}
void mpix_windows_set_missing_counter_class(int error_class) {
  missing_counter_class.store(error_class, std::memory_order_relaxed);
}
uint64_t* mpix_window_counter(mpix_window_t* window, int index) {
  (void)mpix_windows_progress();  // queued operations must proceed while a program polls a counter
  return of(window).counters.find(index);
}
