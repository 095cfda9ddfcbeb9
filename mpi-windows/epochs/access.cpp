#include "mpi-windows/epochs/access.hpp"

#include <mutex>
#include <utility>
#include <vector>

#include "mpi-windows/epochs/active.hpp"
#include "mpi-windows/epochs/completion.hpp"
#include "mpi-windows/epochs/queue.hpp"
#include "mpi-windows/epochs/target_lock.hpp"
#include "mpi-windows/state/targets.hpp"

namespace mpixrma::windows {

namespace {

/// Starts to open the target. Sets `*open` if the target is already open or queued.
int enter(Window& window, Target& target, Requirement* requirement, bool* open) {
  for (;;) {
    {
      std::lock_guard const guard(window.epoch.lock);
      EpochAccess const access = target.access.load(std::memory_order_acquire);
      *open = access >= EpochAccess::queued;
      if (*open) return MPI_SUCCESS;
      if (access == EpochAccess::closed) {
        if (int const error = window.epoch.check_access(target, requirement); error != MPI_SUCCESS)
          return error;
        if (window.epoch.is_none()) window.epoch.kind.store(Epoch::fence, std::memory_order_relaxed);
        window.epoch.add(target);
        target.access.store(EpochAccess::opening, std::memory_order_relaxed);
        return MPI_SUCCESS;
      }
    }
    window.engine.waits.until(
        [&] { return target.access.load(std::memory_order_acquire) != EpochAccess::opening; });
  }
}

/// Meets the requirement, or queues the target until it is met. Opens or queues the target.
int open_or_queue(Window& window, Target& target, Requirement requirement) {
  Awaited awaited = Awaited::nothing;
  int error = MPI_SUCCESS;
  if (requirement == Requirement::post && !take_post_soon(window, target)) awaited = Awaited::post;
  if (requirement == Requirement::lock && !try_lock(window, target, engine::LockMode::shared, Lock::shared))
    error = request_lock(window, target, engine::LockMode::shared, LockWay::alone, &awaited);
  if (requirement == Requirement::lock && awaited != Awaited::nothing &&
      wait_until_received(window, target, awaited)) {
    awaited = Awaited::nothing;
    error = target.queue->refusal;
  }
  if (error != MPI_SUCCESS) return error;
  // The requested lock counts as held from now on: later requests of the process describe it.
  if (awaited == Awaited::lock) note_granted(window, target, target.queue->request);
  awaited == Awaited::nothing ? target.open() : begin_queue(window, target, awaited);
  return MPI_SUCCESS;
}

void leave(Window& window, Target& target) {
  std::lock_guard const guard(window.epoch.lock);
  window.epoch.remove(target);
}

/// Completes the messages to the target. Local completion returns those failures that have arrived.
int complete_at(Window& window, Target& target, Level level) {
  if (!target.outstanding.is_set()) return MPI_SUCCESS;
  if (level == Level::remote || target.memory_owner == nullptr) return complete_messages(window, target);
  complete_locally(window, target);
  return take_failure(window, target);
}

}  // namespace

int open_target(Window& window, int rank, Target** out) {
  Target* const made = find_target(window, rank);
  if (made == nullptr) return !window.processes.contains(rank) ? MPI_ERR_RANK : MPI_ERR_OTHER;
  Requirement requirement = Requirement::none;
  bool open = false;
  *out = made;
  if (int const error = enter(window, *made, &requirement, &open); error != MPI_SUCCESS || open) {
    if (made->is_queued()) (void)serve_queue(window, *made);
    return error;
  }
  try {
    int const error = open_or_queue(window, *made, requirement);
    if (error != MPI_SUCCESS) leave(window, *made);
    return error;
  } catch (...) {  // other threads wait for the target
    leave(window, *made);
    throw;
  }
}

int complete_opened(Window& window, Level level) {
  std::vector<Target*> opened;
  {
    std::lock_guard const guard(window.epoch.lock);
    opened.swap(window.epoch.opened);
  }
  int error = MPI_SUCCESS;
  for (Target* const target : opened) {
    error = first_of(error, wait_for_queue(window, *target));
    error = first_of(error, complete_at(window, *target, level));
    if (target->is_queued()) remove_queue(window, *target);
    target->close();
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);
  std::lock_guard const guard(window.epoch.lock);
  window.epoch.kind.store(Epoch::none, std::memory_order_relaxed);
  if (window.epoch.opened.empty()) {
    opened.clear();
    window.epoch.opened.swap(opened);  // keep the vector's memory
  }
  return error;
}

}  // namespace mpixrma::windows
