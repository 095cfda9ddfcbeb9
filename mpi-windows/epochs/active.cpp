/// Window: active-target synchronisation and its signals.
#include <sched.h>

#include <algorithm>

#include "engine/base/backoff.hpp"
#include "mpi-windows/state/window.hpp"

namespace mpixrma::windows {

/// Looks for a local counter that other processes raise, as long as they usually need.
template <typename Predicate>
bool Window::comes_shortly(Predicate done) {
  constexpr unsigned quick_spins = 256;
  for (unsigned spins = 0; spins < quick_spins && !engine_.yields_when_idle(); ++spins) {
    if (done()) return true;
    engine::cpu_relax();
  }
  return false;
}

/// Waits until other processes have raised a local counter.
template <typename Predicate>
void Window::await(Predicate done) {
  if (comes_shortly(done)) return;
  engine_.wait_until([&] {
    (void)serve_queues();
    return done();
  });
}

/// Returns an update of a counter in the target's control memory.
engine::RmaOp Window::update_of(Target const& target, std::size_t offset, engine::ReduceOp reduce_op,
                                engine::ElementType type) const {
  engine::RmaOp update = engine::update_with(reduce_op, type);
  update.guarantees = engine::Guarantee::element_atomic;
  update.context = context_;
  update.target = offset;
  update.exposed.target = target.control_name;
  update.target_layout = engine::Layout::contiguous(engine::element_size(type));
  update.is_notification = true;  // not an operation of the program, so it is not counted
  return update;
}

/// Raises a counter of the target, ordered after all earlier stores of this process.
void Window::signal(Target& target, std::size_t offset, engine::ElementType type) {
  if (target.control != nullptr) {
    std::byte* const counter = target.control + offset;
    // Release: pairs with the acquires of the waiting processes.
    if (type == engine::ElementType::uint8)
      reinterpret_cast<PostCounter*>(counter)->fetch_add(1, std::memory_order_acq_rel);
    else
      reinterpret_cast<Counter*>(counter)->fetch_add(1, std::memory_order_acq_rel);
    return;
  }
  (void)engine_.issue(*target.process, update_of(target, offset, engine::ReduceOp::increment, type));
}

/// Raises a counter of arrivals and sets its failure mark.
void Window::object(Target& target, std::size_t offset) {
  static constexpr std::uint64_t step = objection_mark + 1;
  if (target.control != nullptr) {
    // Release: pairs with the acquires of the waiting processes.
    reinterpret_cast<Counter*>(target.control + offset)->fetch_add(step, std::memory_order_acq_rel);
    return;
  }
  engine::RmaOp raise = update_of(target, offset, engine::ReduceOp::sum, engine::ElementType::uint64);
  raise.origin = engine::read_only(&step);
  raise.origin_layout = raise.target_layout;
  (void)engine_.issue(*target.process, raise);
}

void Window::synchronise() {
  if (!processes_.is_connected()) return barrier();
  PMPI_Barrier(processes_.origins);
}

/// A dissemination barrier: after round k a process knows that 2^(k+1) processes have arrived. tell(target,
/// offset) raises the arrival counter of the successor; hear(arrivals) examines the local arrival counter.
template <typename Tell, typename Hear>
void Window::disseminate(Tell tell, Hear hear) {
  ++control_.barriers;
  unsigned round = 0;
  for (std::int64_t distance = 1; distance < processes_.size; distance *= 2, ++round) {
    if (Target* const next = target(processes_.successor(distance)))
      tell(*next, control_.layout.arrival(round));
    Counter& arrivals = control_.counter(control_.layout.arrival(round));
    await([&] { return arrivals.load(std::memory_order_acquire) >= control_.barriers; });
    hear(arrivals);
  }
}

void Window::barrier() {
  disseminate([&](Target& next, std::size_t at) { signal(next, at, engine::ElementType::uint64); },
              [](Counter const&) {});
}

/// Returns whether any process has an objection; the same at all. Must be followed by a barrier().
bool Window::barrier_with(bool objection) {
  disseminate(
      [&](Target& next, std::size_t at) {
        objection ? object(next, at) : signal(next, at, engine::ElementType::uint64);
      },
      // Later arrivals belong to the following barrier, which carries no objections.
      [&](Counter& arrivals) {
        if (arrivals.load(std::memory_order_relaxed) < objection_mark) return;
        arrivals.fetch_and(objection_mark - 1, std::memory_order_relaxed);
        objection = true;
      });
  return objection;
}

/// Resolves the successors before the last barrier: the process that stores the host's table may leave the
/// barrier, and free the table, before others.
void Window::find_successors() {
  for (std::int64_t distance = 1; distance < processes_.size; distance *= 2)
    (void)target(processes_.successor(distance));
}

int Window::fence(int assertion) {
  {
    Guard const guard(epoch_.lock);
    if (exposure_epoch_.is_open || !epoch_.permits_fence()) return MPI_ERR_RMA_SYNC;
  }
  int const error = complete_opened();
  constexpr int neither = MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED;
  if ((assertion & neither) != neither) synchronise();
  epoch_.fence_open = (assertion & MPI_MODE_NOSUCCEED) == 0;
  return error;
}

int Window::post(MPI_Group group, int assertion) {
  if (processes_.is_connected()) return MPI_ERR_UNSUPPORTED_OPERATION;  // the targets are not processes
  std::vector<int> const origins = processes_.ranks_of(group);
  if (std::ranges::find(origins, MPI_UNDEFINED) != origins.end()) return MPI_ERR_GROUP;
  {
    Guard const guard(epoch_.lock);
    if (exposure_epoch_.is_open || epoch_.is(Epoch::fence)) return MPI_ERR_RMA_SYNC;
    exposure_epoch_.is_open = true;
    exposure_epoch_.completions_due += origins.size();
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if ((assertion & MPI_MODE_NOCHECK) != 0) return MPI_SUCCESS;
  for (int const origin : origins) {
    if (Target* const told = target(origin))
      signal(*told, control_.layout.posted(processes_.rank), engine::ElementType::uint8);
  }
  return MPI_SUCCESS;
}

int Window::start(MPI_Group group, int assertion) {
  if (processes_.is_connected()) return MPI_ERR_UNSUPPORTED_OPERATION;
  std::vector<int> targets = processes_.ranks_of(group);
  if (std::ranges::find(targets, MPI_UNDEFINED) != targets.end()) return MPI_ERR_GROUP;
  for (int const rank : targets) {
    if (target(rank) == nullptr) return MPI_ERR_OTHER;
  }
  Guard const guard(epoch_.lock);
  if (!epoch_.is_none()) return MPI_ERR_RMA_SYNC;
  epoch_.begin(Epoch::group);
  epoch_.unchecked = (assertion & MPI_MODE_NOCHECK) != 0;
  for (int const rank : targets) targets_.find(rank)->in_group = true;
  epoch_.group = std::move(targets);
  return MPI_SUCCESS;
}

/// Whether the target has posted for this access epoch. Takes the post.
bool Window::has_post(Target& target) noexcept {
  auto const& posts = *reinterpret_cast<PostCounter*>(control_.base + control_.layout.posted(target.rank));
  if (posts.load(std::memory_order_acquire) == target.posts_seen) return false;
  ++target.posts_seen;
  return true;
}

bool Window::has_post_shortly(Target& target) {
  if (comes_shortly([&] { return has_post(target); })) return true;
  engine_.progress();
  return has_post(target);
}

/// A signal that travels behind the operations need not wait for their completion.
int Window::tell_completed(Target& target) {
  std::uint64_t const sequence = target.outstanding.get();
  bool const follows = target.memory == target.process && target.control == nullptr;
  int error = MPI_SUCCESS;
  if (sequence != 0 && follows) engine_.fence(*target.process, sequence);
  if (sequence != 0 && !follows) error = complete_messages(target);
  signal(target, control_.layout.completed(), engine::ElementType::uint64);
  return error;
}

/// Ends the epoch at one target if its post has arrived. Returns whether it has ended.
bool Window::end_access(Target& target, int* error) {
  if (!target.in_group) return true;
  Access const access = target.access.load(std::memory_order_relaxed);
  if (access == Access::queued) {
    (void)serve(target);
    if (!is_drained(target)) return false;
    *error = first_of(*error, wait_for_queue(target));
  }
  if (access == Access::closed && !epoch_.unchecked && !has_post(target)) return false;
  *error = first_of(*error, tell_completed(target));
  target.in_group = false;
  return true;
}

/// Targets learn of the end in the order of their posts: a target may wait for it before another one posts.
int Window::complete() {
  if (!epoch_.is(Epoch::group)) return MPI_ERR_RMA_SYNC;
  int error = MPI_SUCCESS;
  await([&] {
    bool ended = true;
    for (int const rank : epoch_.group) ended = end_access(*targets_.find(rank), &error) && ended;
    return ended;
  });
  return first_of(error, complete_opened());
}

int Window::wait() {
  if (!exposure_epoch_.is_open) return MPI_ERR_RMA_SYNC;
  Counter const& completed = control_.counter(control_.layout.completed());
  await([&] { return completed.load(std::memory_order_acquire) >= exposure_epoch_.completions_due; });
  exposure_epoch_.is_open = false;
  return MPI_SUCCESS;
}

int Window::test(int* flag) {
  if (!exposure_epoch_.is_open) return MPI_ERR_RMA_SYNC;
  Counter const& completed = control_.counter(control_.layout.completed());
  *flag = completed.load(std::memory_order_acquire) >= exposure_epoch_.completions_due ? 1 : 0;
  // Yield, because a program that tests in a loop may occupy the core that the origin needs.
  if (*flag == 0 && engine_.progress() == 0 && engine_.yields_when_idle()) sched_yield();
  *flag = completed.load(std::memory_order_acquire) >= exposure_epoch_.completions_due ? 1 : 0;
  exposure_epoch_.is_open = *flag == 0;
  return MPI_SUCCESS;
}

}  // namespace mpixrma::windows
