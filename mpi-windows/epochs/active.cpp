#include "mpi-windows/epochs/active.hpp"

#include <sched.h>

#include <algorithm>

#include "mpi-windows/epochs/access.hpp"
#include "mpi-windows/epochs/completion.hpp"
#include "mpi-windows/epochs/queue.hpp"
#include "mpi-windows/epochs/signals.hpp"
#include "mpi-windows/state/targets.hpp"

namespace mpixrma::windows {

namespace {

/// The level of completion at the end of an access epoch. The target waits for the signal behind the
/// operations, so that the origin need not. But only the target of a dynamic window knows whether there is
/// memory at an address.
Level level_at_end(Window const& window) noexcept {
  return window.is_dynamic() ? Level::remote : Level::local;
}

/// Signals the end of the access epoch to the target. A signal that travels behind the operations need not
/// wait for their completion.
int signal_complete(Window& window, Target& target) {
  std::uint64_t const sequence = target.outstanding.get();
  bool const follows = target.memory_owner == target.process && target.control == nullptr;
  int error = MPI_SUCCESS;
  if (sequence != 0 && follows) {
    bool const awaited = level_at_end(window) == Level::remote;
    window.engine.order.fence(*target.process, sequence,
                              awaited ? engine::OpenBatch::sent : engine::OpenBatch::kept);
  }
  if (sequence != 0 && !follows) error = complete_messages(window, target);
  signal(window, target, window.control.layout.completed(), engine::ElementType::uint64);
  return error;
}

/// Ends the epoch at one target if its post has arrived, or if the target has ended. Returns whether the
/// epoch has ended there.
bool end_at_target(Window& window, Target& target, int* error) {
  if (!target.in_group) return true;
  EpochAccess const access = target.access.load(std::memory_order_relaxed);
  if (access == EpochAccess::queued) {
    (void)serve_queue(window, target);
    if (!is_drained(target)) return false;
    *error = first_of(*error, wait_for_queue(window, target));
  }
  if (target.process_is_lost()) {
    *error = first_of(*error, loss_of_process(window, target.rank));
    // A target that cannot signal to this process may be alive, and wait for the completion.
    if (target.control != nullptr && !target.process->is_lost())
      *error = first_of(*error, signal_complete(window, target));
  } else if (access == EpochAccess::closed && !window.epoch.unchecked && !take_post(window, target)) {
    return false;
  } else {
    *error = first_of(*error, signal_complete(window, target));
  }
  target.in_group = false;
  return true;
}

/// Whether all access epochs that the exposure epoch waits for have ended.
bool is_exposure_complete(Window& window) {
  Counter const& completed = window.control.counter(window.control.layout.completed());
  return completed.load(std::memory_order_acquire) >= window.exposure_epoch.completions_due;
}

/// Ends the exposure epoch if no completion can arrive any more, because every process of the group has ended
/// or is out of reach. The counter does not tell whose completions are missing: processes that are left may
/// still access the memory.
int take_loss_of_origins(Window& window) {
  std::vector<int> const& origins = window.exposure_epoch.origins;
  for (int const rank : origins) {
    if (!window.targets.find(rank)->process_is_lost()) return MPI_SUCCESS;
  }
  if (origins.empty() || is_exposure_complete(window)) return MPI_SUCCESS;
  Counter const& completed = window.control.counter(window.control.layout.completed());
  window.exposure_epoch.completions_due = completed.load(std::memory_order_acquire);
  window.exposure_epoch.is_open = false;
  return loss_of_process(window, origins.front());
}

}  // namespace

int fence(Window& window, int assertion) {
  {
    std::lock_guard const guard(window.epoch.lock);
    if (window.exposure_epoch.is_open || !window.epoch.permits_fence()) return MPI_ERR_RMA_SYNC;
  }
  int error = complete_opened(window);
  constexpr int neither = MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED;
  if ((assertion & neither) != neither) error = first_of(error, synchronise(window));
  window.epoch.fence_open = (assertion & MPI_MODE_NOSUCCEED) == 0;
  return error;
}

int post_exposure(Window& window, MPI_Group group, int assertion) {
  if (window.processes.is_connected()) return MPI_ERR_UNSUPPORTED_OPERATION;  // the targets are not processes
  if (group == MPI_GROUP_NULL) return MPI_ERR_GROUP;  // MPI would call the handler of MPI_COMM_WORLD
  std::vector<int> origins = window.processes.ranks_of(group);
  if (std::ranges::find(origins, MPI_UNDEFINED) != origins.end()) return MPI_ERR_GROUP;
  for (int const origin : origins) {
    if (find_target(window, origin) == nullptr) return MPI_ERR_OTHER;
  }
  {
    std::lock_guard const guard(window.epoch.lock);
    if (window.exposure_epoch.is_open || window.epoch.is(Epoch::fence)) return MPI_ERR_RMA_SYNC;
    window.exposure_epoch.is_open = true;
    window.exposure_epoch.completions_due += origins.size();
    window.exposure_epoch.origins = std::move(origins);
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if ((assertion & MPI_MODE_NOCHECK) != 0) return MPI_SUCCESS;
  for (int const origin : window.exposure_epoch.origins)
    signal(window, *window.targets.find(origin), window.control.layout.posted(window.processes.rank),
           engine::ElementType::uint8);
  return MPI_SUCCESS;
}

int start_epoch(Window& window, MPI_Group group, int assertion) {
  if (window.processes.is_connected()) return MPI_ERR_UNSUPPORTED_OPERATION;
  if (group == MPI_GROUP_NULL) return MPI_ERR_GROUP;  // as in post_exposure()
  std::vector<int> targets = window.processes.ranks_of(group);
  if (std::ranges::find(targets, MPI_UNDEFINED) != targets.end()) return MPI_ERR_GROUP;
  for (int const rank : targets) {
    if (find_target(window, rank) == nullptr) return MPI_ERR_OTHER;
  }
  std::lock_guard const guard(window.epoch.lock);
  if (!window.epoch.is_none()) return MPI_ERR_RMA_SYNC;
  window.epoch.begin(Epoch::group);
  window.epoch.unchecked = (assertion & MPI_MODE_NOCHECK) != 0;
  for (int const rank : targets) window.targets.find(rank)->in_group = true;
  window.epoch.group = std::move(targets);
  return MPI_SUCCESS;
}

bool take_post(Window const& window, Target& target) noexcept {
  auto const& posts =
      *reinterpret_cast<PostCounter*>(window.control.base + window.control.layout.posted(target.rank));
  if (posts.load(std::memory_order_acquire) == target.posts_seen) return false;
  ++target.posts_seen;
  return true;
}

bool take_post_soon(Window& window, Target& target) {
  if (poll_briefly(window, [&] { return take_post(window, target); })) return true;
  window.engine.waits.progress();
  return take_post(window, target);
}

/// Signals the end of the epoch to each target once it has posted: a target may wait for this signal before
/// another target posts.
int complete_epoch(Window& window) {
  if (!window.epoch.is(Epoch::group)) return MPI_ERR_RMA_SYNC;
  int error = MPI_SUCCESS;
  await(window, [&] {
    bool ended = true;
    for (int const rank : window.epoch.group)
      ended = end_at_target(window, *window.targets.find(rank), &error) && ended;
    return ended;
  });
  return first_of(error, complete_opened(window, level_at_end(window)));
}

int wait_exposure(Window& window) {
  if (!window.exposure_epoch.is_open) return MPI_ERR_RMA_SYNC;
  int error = MPI_SUCCESS;
  unsigned polls = 0;
  await(window, [&] {
    if (is_exposure_complete(window)) return true;
    if (++polls % polls_before_losses == 0) error = take_loss_of_origins(window);
    return error != MPI_SUCCESS;
  });
  window.exposure_epoch.is_open = false;
  return error;
}

int test_exposure(Window& window, int* flag) {
  if (!window.exposure_epoch.is_open) return MPI_ERR_RMA_SYNC;
  *flag = is_exposure_complete(window) ? 1 : 0;
  // Yield, because a program that tests in a loop may occupy the core that the origin needs.
  if (*flag == 0 && window.engine.waits.progress() == 0 && window.engine.waits.yields_when_idle())
    sched_yield();
  *flag = is_exposure_complete(window) ? 1 : 0;
  window.exposure_epoch.is_open = *flag == 0;
  return *flag == 0 ? take_loss_of_origins(window) : MPI_SUCCESS;
}

}  // namespace mpixrma::windows
