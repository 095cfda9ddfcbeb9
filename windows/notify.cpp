/// Window: counters that notified operations increment at their targets.
#include <cstring>

#include "windows/operation.hpp"

namespace mpix::windows {

void Window::give_up_counters() {
  if (own_counters_ == nullptr) return;
  engine_.forget_counters(own_counters_, own_counters_ + own_count_);
  (void)engine_.free(own_counters_);
  own_counters_ = nullptr;
  own_count_ = 0;
}

int Window::set_counters(int count) {
  if (count < 0) return MPI_ERR_ARG;
  if (nam_ != nullptr) return MPI_ERR_UNSUPPORTED_OPERATION;
  barrier();  // nobody uses those that were there
  give_up_counters();
  ++counters_round_;
  std::size_t const bytes = static_cast<std::size_t>(count) * sizeof(std::uint64_t);
  void* base = nullptr;
  int const error = count == 0 ? MPI_SUCCESS : class_of(engine_.allocate(bytes, &base));
  if (base != nullptr) {
    std::memset(base, 0, bytes);
    own_counters_ = static_cast<std::uint64_t*>(base);
    own_count_ = count;
  }
  own_counter(layout_.notifications())
      .store(reinterpret_cast<std::uint64_t>(base), std::memory_order_relaxed);
  own_counter(layout_.notifications() + sizeof(Counter))
      .store(static_cast<std::uint64_t>(own_count_), std::memory_order_relaxed);
  barrier();  // and release them to the others
  return error;
}

int Window::find_counter(Target& target, int index, engine::RemoteAddress* address) {
  if (nam_ != nullptr) return MPI_ERR_UNSUPPORTED_OPERATION;
  std::lock_guard const held(creation_);
  if (target.counters_round != counters_round_) {
    std::uint64_t told[2] = {};
    if (target.control != nullptr) {
      std::memcpy(told, target.control + layout_.notifications(), sizeof told);
    } else {
      engine::Transfer read;
      read.direction = engine::Direction::get;
      read.context = context_;
      read.origin = reinterpret_cast<std::byte*>(told);
      read.origin_layout = engine::Layout::contiguous(sizeof told);
      read.target = target.control_address + layout_.notifications();
      read.target_layout = read.origin_layout;
      engine::Issued const issued = engine_.issue(*target.process, read);
      if (engine::failed(issued.status)) return class_of(issued.status);
      engine_.complete(*target.process, issued.sequence);
    }
    target.counters = told[0];
    target.counters_count = told[1];
    target.counters_round = counters_round_;
  }
  if (index < 0 || static_cast<std::uint64_t>(index) >= target.counters_count) return MPI_ERR_ARG;
  *address = target.counters + static_cast<std::uint64_t>(index) * sizeof(std::uint64_t);
  return MPI_SUCCESS;
}

int Window::notify_behind(Target& target, engine::RemoteAddress counter, MPI_Request* request) {
  int error = MPI_SUCCESS;
  if (target.outstanding.is_set()) error = complete_messages(target);
  engine::Update raise;
  raise.operation = engine::Operation::increment;
  raise.type = engine::ElementType::uint64;
  raise.guarantees = engine::Guarantee::element_atomic;
  raise.context = context_;
  raise.target = counter;
  raise.target_layout = engine::Layout::contiguous(sizeof(std::uint64_t));
  engine::Issued const issued = engine_.issue(*target.process, raise);
  if (issued.sequence != 0) engine_.complete(*target.process, issued.sequence);
  if (request != nullptr && error == MPI_SUCCESS) *request = completed_request();
  return first_of(error, class_of(issued.status));
}

}  // namespace mpix::windows

using namespace mpix::windows;

namespace {
Window& of(mpix_window_t* handle) noexcept { return *static_cast<Window*>(handle); }
}  // namespace

int mpix_window_set_counters(mpix_window_t* window, int count) try {
  return of(window).set_counters(count);
} catch (...) {
  return class_of_exception();
}
int mpix_window_num_counters(const mpix_window_t* window) {
  return static_cast<Window const*>(window)->own_counters();
}
uint64_t* mpix_window_counter(mpix_window_t* window, int index) { return of(window).counter(index); }
