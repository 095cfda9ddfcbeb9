/// Window: counters that notified operations increment at their targets.
#include <climits>
#include <cstring>

#include "mpi-windows/operations/operation.hpp"

namespace mpixrma::windows {

void Window::give_up_counters() {
  if (counters_.base == nullptr) return;
  engine_.progress();  // completes requests whose threshold is reached, before the others fail
  engine_.forget_counters(counters_.base, counters_.base + counters_.count);
  (void)engine_.free(counters_.base);
  counters_.base = nullptr;
  counters_.count = 0;
}

/// Makes counters that are all zero. No memory is allocated for a count of 0.
int Window::make_counters(int count, std::uint64_t** base) {
  if (count == 0) return MPI_SUCCESS;
  std::size_t const bytes = static_cast<std::size_t>(count) * sizeof(std::uint64_t);
  void* made = nullptr;
  if (int const error = class_of(engine_.allocate(bytes, &made)); error != MPI_SUCCESS) return error;
  *base = static_cast<std::uint64_t*>(std::memset(made, 0, bytes));
  return MPI_SUCCESS;
}

/// Replaces the counters of this process.
void Window::take_counters(std::uint64_t* base, int count) {
  give_up_counters();
  counters_.base = base;
  counters_.count = count;
  control_.counter(control_.layout.notifications())
      .store(reinterpret_cast<std::uint64_t>(base), std::memory_order_relaxed);
  control_.counter(control_.layout.notifications() + sizeof(Counter))
      .store(static_cast<std::uint64_t>(counters_.count), std::memory_order_relaxed);
}

/// The suggested number of counters fills a page.
CounterBounds Window::counter_bounds() const noexcept {
  if (processes_.is_connected()) return {0, 0};
  int const asserted = hints_.counters();
  return asserted != 0 ? CounterBounds{asserted, asserted} : CounterBounds{512, INT_MAX};
}

/// A process that may not change its counters takes part nevertheless, because the others wait for it and
/// their counters are new. If memory for the counters of one process is missing, all processes keep the
/// counters that they have.
int Window::set_counters(int count) {
  if (processes_.is_connected()) return MPI_ERR_UNSUPPORTED_OPERATION;  // the targets are not processes
  int error = MPI_SUCCESS;
  if (!epoch_.permits_fence()) error = MPI_ERR_RMA_SYNC;
  if (count < counters_.count || count > counter_bounds().max) error = MPI_ERR_ARG;
  std::uint64_t* made = nullptr;
  int const lack = error == MPI_SUCCESS ? make_counters(count, &made) : MPI_SUCCESS;
  if (barrier_with(lack != MPI_SUCCESS)) {  // no process uses the old counters
    if (made != nullptr) (void)engine_.free(made);
    barrier();
    return error != MPI_SUCCESS ? error : lack != MPI_SUCCESS ? lack : MPI_ERR_NO_MEM;
  }
  if (error == MPI_SUCCESS) take_counters(made, count);
  {
    std::lock_guard const held(creation_);
    ++counters_.round;
  }
  barrier();  // publishes the new counters to the others
  return error;
}

int Window::count_counters(int rank, int* count) {
  if (!processes_.contains(rank)) return MPI_ERR_RANK;
  *count = counters_.count;
  if (processes_.is_connected() || rank == processes_.rank) return MPI_SUCCESS;
  Target* const known = target(rank);
  if (known == nullptr) return MPI_ERR_OTHER;
  std::lock_guard const held(creation_);
  int const error = learn_counters(*known);
  if (error == MPI_SUCCESS) *count = static_cast<int>(known->counters_count);
  return error;
}

/// Called with `creation_` held.
int Window::learn_counters(Target& target) {
  if (target.counters_round == counters_.round) return MPI_SUCCESS;
  std::uint64_t told[2] = {};
  if (target.control != nullptr) {
    std::memcpy(told, target.control + control_.layout.notifications(), sizeof told);
  } else {
    engine::RmaOp read;
    read.kind = engine::OpKind::get;
    read.context = context_;
    read.origin = reinterpret_cast<std::byte*>(told);
    read.origin_layout = engine::Layout::contiguous(sizeof told);
    read.target = control_.layout.notifications();
    read.exposed.target = target.control_name;
    read.target_layout = read.origin_layout;
    engine::Issued const issued = engine_.issue(*target.process, read);
    if (engine::failed(issued.status)) return class_of(issued.status);
    engine_.complete(*target.process, issued.sequence);
    if (int const error = class_of(engine_.take_error(*target.process, context_)); error != MPI_SUCCESS)
      return error;
  }
  target.counters = told[0];
  target.counters_count = told[1];
  target.counters_round = counters_.round;
  return MPI_SUCCESS;
}

int Window::find_counter(Target& target, int index, engine::RemoteAddress* address) {
  if (processes_.is_connected()) return MPI_ERR_UNSUPPORTED_OPERATION;
  std::lock_guard const held(creation_);
  if (int const error = learn_counters(target); error != MPI_SUCCESS) return error;
  if (index < 0 || static_cast<std::uint64_t>(index) >= target.counters_count) return MPI_ERR_ARG;
  *address = target.counters + static_cast<std::uint64_t>(index) * sizeof(std::uint64_t);
  return MPI_SUCCESS;
}

int Window::notify_behind(Target& target, engine::RemoteAddress counter, MPI_Request* request) {
  if (int const error = complete(target); error != MPI_SUCCESS) return error;
  engine::RmaOp raise = engine::update_with(engine::ReduceOp::increment, engine::ElementType::uint64);
  raise.guarantees = engine::Guarantee::element_atomic;
  raise.context = context_;
  raise.target = counter;
  raise.target_layout = engine::Layout::contiguous(sizeof(std::uint64_t));
  engine::Issued const issued = engine_.issue(*target.process, raise);
  if (issued.sequence != 0) engine_.complete(*target.process, issued.sequence);
  if (request != nullptr && !engine::failed(issued.status)) *request = completed_request();
  return class_of(issued.status);
}

}  // namespace mpixrma::windows

using namespace mpixrma::windows;

namespace {
Window& of(mpix_window_t* handle) noexcept { return *static_cast<Window*>(handle); }
}  // namespace

int mpix_window_set_counters(mpix_window_t* window, int count) try {
  return of(window).set_counters(count);
} catch (...) {
  return class_of_exception();
}
void mpix_window_counter_bounds(const mpix_window_t* window, int* suggested, int* most) {
  CounterBounds const bounds = static_cast<Window const*>(window)->counter_bounds();
  *suggested = bounds.suggested;
  *most = bounds.max;
}
int mpix_window_num_counters(mpix_window_t* window, int rank, int* count) try {
  return of(window).count_counters(rank, count);
} catch (...) {
  return class_of_exception();
}
uint64_t* mpix_window_counter(mpix_window_t* window, int index) {
  (void)mpix_windows_progress();  // a process may wait in a loop of such calls for the answer to an operation
  return of(window).counters_.find(index);
}
