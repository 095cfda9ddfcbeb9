#include "mpi-windows/epochs/passive.hpp"

#include <new>

#include "engine/base/log.hpp"
#include "mpi-windows/epochs/access.hpp"
#include "mpi-windows/epochs/completion.hpp"
#include "mpi-windows/epochs/queue.hpp"
#include "mpi-windows/epochs/target_lock.hpp"
#include "mpi-windows/state/failure.hpp"
#include "mpi-windows/state/targets.hpp"

namespace mpixrma::windows {

namespace {

inline void end_lock_epoch(Window& window, Target& target) {
  std::lock_guard const guard(window.epoch.lock);
  target.lock = Lock::none;
  window.epoch.remove(target);
  if (--window.epoch.locks == 0) window.epoch.kind.store(Epoch::none, std::memory_order_relaxed);
}

inline int begin_lock(Window& window, int type, int rank, int assertion) {
  if (window.hints.no_locks()) return MPI_ERR_RMA_SYNC;
  Target* const made = find_target(window, rank);
  if (made == nullptr) return !window.processes.contains(rank) ? MPI_ERR_RANK : MPI_ERR_OTHER;
  {
    std::lock_guard const guard(window.epoch.lock);
    if (!window.epoch.is_none() && window.epoch.locks == 0) return MPI_ERR_RMA_SYNC;
    if (made->access.load(std::memory_order_relaxed) != EpochAccess::closed) return MPI_ERR_RMA_SYNC;
    window.epoch.add(*made);
    window.epoch.begin(Epoch::locks);
    ++window.epoch.locks;
    made->lock = Lock::unchecked;
    made->access.store(EpochAccess::opening, std::memory_order_relaxed);
  }
  if ((assertion & MPI_MODE_NOCHECK) == 0) {
    auto const mode = type == MPI_LOCK_EXCLUSIVE ? engine::LockMode::exclusive : engine::LockMode::shared;
    int error = MPI_ERR_NO_MEM;
    try {
      error = take_lock(window, *made, mode);
    } catch (std::bad_alloc const&) {
      if (made->lock > Lock::unchecked) (void)release_lock(window, *made);  // it was granted already
    }
    if (error != MPI_SUCCESS) {
      end_lock_epoch(window, *made);
      return error;
    }
  }
  made->open();
  return MPI_SUCCESS;
}

}  // namespace

int lock_target(Window& window, int type, int rank, int assertion) noexcept try {
  return report(window, begin_lock(window, type, rank, assertion), "MPI_Win_lock", rank);
} catch (...) {
  return class_of_exception();
}

int unlock_target(Window& window, int rank) noexcept try {
  Target& recent = window.targets.recent(rank);
  bool const is_recent = recent.access.load(std::memory_order_relaxed) == EpochAccess::open;
  Target* const locked = is_recent ? &recent : window.targets.find_opened(rank);
  if (locked == nullptr || !window.epoch.is(Epoch::locks))
    return report(window, MPI_ERR_RMA_SYNC, "MPI_Win_unlock", rank);
  int error = is_recent ? MPI_SUCCESS : wait_for_queue(window, *locked);
  error = first_of(error, release_lock(window, *locked));
  error = first_of(error, loss_of(window, *locked));
  int const completed = locked->outstanding.is_set() ? complete_messages(window, *locked) : MPI_SUCCESS;
  end_lock_epoch(window, *locked);
  return report(window, first_of(completed, error), "MPI_Win_unlock", locked->rank);
} catch (...) {
  return class_of_exception();
}

int lock_all(Window& window, int assertion) {
  if (window.hints.no_locks()) return MPI_ERR_RMA_SYNC;
  {
    std::lock_guard const guard(window.epoch.lock);
    if (!window.epoch.is_none()) return MPI_ERR_RMA_SYNC;
    window.epoch.begin(Epoch::lock_all);
    window.epoch.unchecked = (assertion & MPI_MODE_NOCHECK) != 0;
  }
  if (window.epoch.unchecked) return MPI_SUCCESS;
  window.engine.locks.finish_pending();
  // Acquires the locks of memory that the program itself may load and store. Other locks are acquired by the
  // first operation on their target.
  bool const all = window.memory.flavor == MPI_WIN_FLAVOR_SHARED ||
                   window.memory.is_shared.load(std::memory_order_relaxed);
  int error = MPI_SUCCESS;
  for (int rank = 0; rank < window.processes.size && error == MPI_SUCCESS; ++rank) {
    Target* const target = all || rank == window.processes.rank ? find_target(window, rank) : nullptr;
    if (target == nullptr || (rank != window.processes.rank && target->view.local == nullptr)) continue;
    Target* opened = nullptr;
    error = open_target(window, rank, &opened);
    if (error == MPI_SUCCESS) error = wait_for_queue(window, *opened);
  }
  if (error != MPI_SUCCESS) (void)unlock_all(window);
  return error;
}

int unlock_all(Window& window) {
  if (!window.epoch.is(Epoch::lock_all)) return MPI_ERR_RMA_SYNC;
  int error = MPI_SUCCESS;
  for (Target* const opened : window.epoch.opened) {
    error = first_of(error, wait_for_queue(window, *opened));
    error = first_of(error, release_lock(window, *opened));
    error = first_of(error, loss_of(window, *opened));
  }
  return first_of(complete_opened(window), error);
}

void end_epochs(Window& window) {
  if (!window.exposure_epoch.is_open && window.epoch.permits_fence()) return;
  engine::Log const log(Window::verbose, window.engine.process());
  log.write(engine::LogLevel::life, "window %u: MPI_Finalize frees it although %s", window.number(),
            epoch_text(window));
  while (window.epoch.is(Epoch::locks)) (void)unlock_target(window, window.epoch.opened.back()->rank);
  if (window.epoch.is(Epoch::lock_all)) (void)unlock_all(window);
  if (window.epoch.is(Epoch::group)) {
    abandon_queues(window);
    (void)complete_opened(window);
  }
  window.exposure_epoch.is_open = false;
}

}  // namespace mpixrma::windows
