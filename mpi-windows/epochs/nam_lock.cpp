#include "mpi-windows/epochs/nam_lock.hpp"

#include <atomic>
#include <string>

#include "mpi-windows/state/error.hpp"
#include "mpi-windows/state/nam_error_class.hpp"

namespace mpixrma::windows {

namespace {

/// Number of locks at memory servers that the windows of this process hold.
std::atomic<std::size_t> nam_locks_held{0};

}  // namespace

void request_nam_lock(Window& window, Target& target) {
  target.queue->nam_wait.emplace(window.cold->nam_overtake_delay, target.rank, target.queue->request.mode);
}

bool try_nam_lock(Window& window, Target& target) {
  TargetQueue& queue = *target.queue;
  engine::LockMode const mode = queue.request.mode;
  auto const holds_other_locks = [] {
    engine::LockRequest asked;
    std::uint64_t none = 0;
    Window::held_locks.describe(0, &none, &asked);
    // Relaxed: this thread has counted the locks that it holds.
    return asked.overtakes || nam_locks_held.load(std::memory_order_relaxed) != 0;
  };
  auto const attempt = [&](bool* has_turn) { return window.nam->try_lock(target.rank, mode, has_turn); };
  std::string reason;
  bool taken = false;
  int error =
      error_class_of_call([&] { taken = queue.nam_wait->attempt(attempt, holds_other_locks); }, &reason);
  if (error != MPI_SUCCESS) error = code_with(error, "cannot lock rank %d: %s", target.rank, reason.c_str());
  Target const& first_part =
      target.striped_region != nullptr ? *target.striped_region->parts.front() : target;
  if (error == MPI_SUCCESS && !taken && first_part.view.local != nullptr && first_part.view.is_gone())
    error = MPI_ERR_WIN;
  if (taken) {
    target.lock = mode == engine::LockMode::exclusive ? Lock::exclusive : Lock::shared;
    nam_locks_held.fetch_add(1, std::memory_order_relaxed);
  } else if (error != MPI_SUCCESS) {
    window.nam->unlock(target.rank);
    queue.refused = engine::Status::access_denied;
    queue.refusal = error;
  }
  return taken || error != MPI_SUCCESS;
}

void release_nam_lock(Window& window, Target& target) noexcept {
  window.nam->unlock(target.rank);
  nam_locks_held.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace mpixrma::windows
