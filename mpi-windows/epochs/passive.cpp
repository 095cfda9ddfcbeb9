/// Window: the start of access epochs, and passive-target synchronisation.
#include <utility>

#include "engine/base/log.hpp"
#include "mpi-windows/state/window.hpp"

namespace mpixrma::windows {

/// Starts to open the target. Sets `*open` if it has been opened or queued.
int Window::enter(Target& target, Permission* permission, bool* open) {
  for (;;) {
    {
      Guard const guard(epoch_.lock);
      Access const access = target.access.load(std::memory_order_acquire);
      *open = access >= Access::queued;
      if (*open) return MPI_SUCCESS;
      if (access == Access::closed) {
        if (int const error = epoch_.check_access(target, permission); error != MPI_SUCCESS) return error;
        if (epoch_.is_none()) epoch_.kind.store(Epoch::fence, std::memory_order_relaxed);
        epoch_.add(target);
        target.access.store(Access::opening, std::memory_order_relaxed);
        return MPI_SUCCESS;
      }
    }
    engine_.wait_until([&] { return target.access.load(std::memory_order_acquire) != Access::opening; });
  }
}

/// The common case: the lock word is mapped and the lock is free.
bool Window::try_lock(Target& target, engine::LockMode mode, Lock held) {
  if (target.lock_word == nullptr || target.process->is_lost()) return false;
  if (target.lock_word->try_lock(own_lock_.holder, mode).outcome != engine::SharedLock::Outcome::done)
    return false;
  target.lock = held;
  return true;
}

/// Returns with the lock. `with_next`: between hosts the request may be sent together with the next
/// operation.
inline int Window::take_lock(Target& target, engine::LockMode mode, bool with_next) {
  Lock const held = mode == engine::LockMode::exclusive ? Lock::exclusive : Lock::shared;
  engine_.settle_locks();
  return try_lock(target, mode, held) ? MPI_SUCCESS : wait_for_lock(target, mode, with_next);
}

int Window::wait_for_lock(Target& target, engine::LockMode mode, bool with_next) {
  Awaited awaited = Awaited::nothing;
  int const error = request_lock(target, mode, with_next, &awaited);
  if (awaited == Awaited::nothing) return error;
  if (awaited == Awaited::nam_lock) {
    engine_.wait_until([&] { return has_nam_lock(target); });
  } else {
    engine_.wait_until(*target.process, [&] { return has_lock(target); });
  }
  return target.queue->refusal;
}

/// Opens a target for the first operation of an epoch, or its queue.
int Window::begin_access(int rank, Target** out) {
  Target* const made = target(rank);
  if (made == nullptr) return !processes_.contains(rank) ? MPI_ERR_RANK : MPI_ERR_OTHER;
  Permission permission = Permission::yes;
  bool open = false;
  *out = made;
  if (int const error = enter(*made, &permission, &open); error != MPI_SUCCESS || open) {
    if (made->is_queued()) (void)serve(*made);
    return error;
  }
  Awaited awaited = Awaited::nothing;
  int error = MPI_SUCCESS;
  if (permission == Permission::post && !has_post_shortly(*made)) awaited = Awaited::post;
  if (permission == Permission::lock && !try_lock(*made, engine::LockMode::shared, Lock::shared))
    error = request_lock(*made, engine::LockMode::shared, false, &awaited);
  if (permission == Permission::lock && awaited != Awaited::nothing && is_answered(*made, awaited)) {
    awaited = Awaited::nothing;
    error = made->queue->refusal;
  }
  if (error != MPI_SUCCESS) {
    Guard const guard(epoch_.lock);
    epoch_.remove(*made);
    return error;
  }
  // Counts as held from now on: later requests of the process describe it.
  if (awaited == Awaited::lock) note_granted(*made, made->queue->request);
  awaited == Awaited::nothing ? made->open() : begin_queue(*made, awaited);
  return MPI_SUCCESS;
}

/// Sets `*awaited` if the lock is not there when the call returns.
int Window::request_lock(Target& target, engine::LockMode mode, bool with_next, Awaited* awaited) {
  TargetQueue& queue = queue_of(target);
  queue.request = {.lock = target.lock_id, .mode = mode, .owner = lock_owner, .beside_stream = true};
  queue.refused = engine::Status::ok;
  queue.refusal = MPI_SUCCESS;
  if (nam_ != nullptr) {
    *awaited = Awaited::nam_lock;
    request_nam_lock(target);
    return MPI_SUCCESS;
  }
  if (mode == engine::LockMode::shared) describe_held(target, &queue.request);
  Lock const held = mode == engine::LockMode::exclusive ? Lock::exclusive : Lock::shared;
  if (!stores_.has_threads() && target.memory == target.process && engine_.has_settled_locks()) {
    if (auto const issued = engine_.lock_in_stream(*target.process, queue.request, context_, with_next)) {
      if (engine::failed(issued->status)) return class_of(issued->status);
      target.outstanding.raise(issued->sequence);
      target.lock = held;
      note_granted(target, queue.request);
      return MPI_SUCCESS;
    }
  }
  queue.grant.has_come.store(false, std::memory_order_relaxed);
  queue.request.completion = &queue.grant;
  engine::Issued const issued = engine_.lock(*target.process, queue.request);
  queue.asked_at = issued.sequence;
  if (!issued.complete) *awaited = Awaited::lock;
  if (issued.complete && !engine::failed(issued.status)) target.lock = held;
  return issued.complete ? class_of(issued.status) : MPI_SUCCESS;
}

/// Waits until the target has queued the request: a lock that is free is there then. Returns whether the lock
/// has been granted or refused.
bool Window::is_answered(Target& target, Awaited awaited) {
  if (awaited == Awaited::nam_lock) return has_nam_lock(target);
  constexpr unsigned polls_before_question = 1000;
  TargetQueue& queue = *target.queue;
  unsigned polls = 0;
  engine_.wait_until(*target.process, [&] {
    if (queue.grant.has_come.load(std::memory_order_acquire)) return true;
    // A message asks how far the target is.
    return ++polls > polls_before_question && engine_.test(*target.process, queue.asked_at);
  });
  return has_lock(target);
}

/// Whether the requested lock has been granted, or refused.
bool Window::has_lock(Target& target) {
  TargetQueue& queue = *target.queue;
  if (!queue.grant.has_come.load(std::memory_order_acquire)) return false;
  queue.refused = queue.grant.status;
  queue.refusal = class_of(queue.refused);
  if (engine::failed(queue.refused)) {
    if (target.granted != 0) cold_->held.note_released(queue.request.mode, std::exchange(target.granted, 0));
    return true;
  }
  if (target.granted == 0) note_granted(target, queue.request);
  target.lock = queue.request.mode == engine::LockMode::exclusive ? Lock::exclusive : Lock::shared;
  return true;
}

/// Adds the locks that this process holds to a request for a shared lock.
void Window::describe_held(Target& target, engine::LockRequest* request) {
  engine::LockClock& own = engine_.lock_clock();
  if (engine::LockClock const* const its = engine_.lock_clock(*target.process)) own.raise(its->now());
  held_locks.describe(own.now(), &target.lock_asked_after, request);
}

void Window::note_granted(Target& target, engine::LockRequest const& request) {
  target.granted = cold_->held.note_granted(request.mode, request.time);
}

/// Whether all operations issued under a mapped lock are complete, so that it can be released in place.
bool Window::may_leave(Target const& target) const noexcept {
  return target.lock_word != nullptr && target.lock > Lock::unchecked && nam_ == nullptr &&
         !target.outstanding.is_set() && !target.process->is_lost() && target.process->newest() == 0;
}

int Window::give_back_lock(Target& target) {
  if (may_leave(target)) [[likely]] {
    // A full barrier: stores made under the lock precede the next holder's accesses.
    auto const left =
        engine_.leave(*target.process, target.lock_id, *target.lock_word, own_lock_.holder, context_);
    if (left) {
      target.lock = Lock::none;
      return engine::failed(left->status) ? class_of(left->status) : MPI_SUCCESS;
    }
  }
  return give_back_slowly(target);
}

/// Releases the lock by the general path: after the operations issued under it. Operations sent as messages
/// are complete when they have been waited for.
int Window::give_back_slowly(Target& target) {
  Lock const held = std::exchange(target.lock, Lock::none);
  if (held == Lock::none || held == Lock::unchecked) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return MPI_SUCCESS;
  }
  if (std::uint64_t const grant = std::exchange(target.granted, 0); grant != 0) {
    auto const mode = held == Lock::exclusive ? engine::LockMode::exclusive : engine::LockMode::shared;
    cold_->held.note_released(mode, grant);
  }
  int error = MPI_SUCCESS;
  if (nam_ != nullptr) {
    if (target.outstanding.is_set()) error = complete_messages(target);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    give_back_nam_lock(target);
    return error;
  }
  if (target.memory != target.process && target.outstanding.is_set()) error = complete_messages(target);
  engine::Issued const issued = engine_.unlock(*target.process, target.lock_id, lock_owner, context_);
  return first_of(error, class_of(issued.status));
}

inline int Window::begin_lock(int type, int rank, int assertion) {
  if (hints_.no_locks()) return MPI_ERR_RMA_SYNC;
  Target* const made = target(rank);
  if (made == nullptr) return !processes_.contains(rank) ? MPI_ERR_RANK : MPI_ERR_OTHER;
  {
    Guard const guard(epoch_.lock);
    if (!epoch_.is_none() && epoch_.locks == 0) return MPI_ERR_RMA_SYNC;
    if (made->access.load(std::memory_order_relaxed) != Access::closed) return MPI_ERR_RMA_SYNC;
    epoch_.begin(Epoch::locks);
    ++epoch_.locks;
    made->lock = Lock::unchecked;
    epoch_.add(*made);
    made->access.store(Access::opening, std::memory_order_relaxed);
  }
  if ((assertion & MPI_MODE_NOCHECK) == 0) {
    auto const mode = type == MPI_LOCK_EXCLUSIVE ? engine::LockMode::exclusive : engine::LockMode::shared;
    if (int const error = take_lock(*made, mode, true); error != MPI_SUCCESS) {
      leave_lock(*made);
      return error;
    }
  }
  made->open();
  return MPI_SUCCESS;
}

int Window::lock(int type, int rank, int assertion) {
  return told(begin_lock(type, rank, assertion), "MPI_Win_lock", rank);
}

void Window::leave_lock(Target& target) {
  Guard const guard(epoch_.lock);
  target.lock = Lock::none;
  epoch_.remove(target);
  if (--epoch_.locks == 0) epoch_.kind.store(Epoch::none, std::memory_order_relaxed);
}

int Window::unlock(int rank) {
  Target& recent = targets_.recent(rank);
  bool const is_recent = recent.access.load(std::memory_order_relaxed) == Access::open;
  Target* const locked = is_recent ? &recent : targets_.find_used(rank);
  if (locked == nullptr || !epoch_.is(Epoch::locks)) return told(MPI_ERR_RMA_SYNC, "MPI_Win_unlock", rank);
  int error = is_recent ? MPI_SUCCESS : wait_for_queue(*locked);
  error = first_of(error, give_back_lock(*locked));
  int const completed = locked->outstanding.is_set() ? complete_messages(*locked) : MPI_SUCCESS;
  leave_lock(*locked);
  return told(first_of(completed, error), "MPI_Win_unlock", locked->rank);
}

int Window::lock_all(int assertion) {
  if (hints_.no_locks()) return MPI_ERR_RMA_SYNC;
  {
    Guard const guard(epoch_.lock);
    if (!epoch_.is_none()) return MPI_ERR_RMA_SYNC;
    epoch_.begin(Epoch::lock_all);
    epoch_.unchecked = (assertion & MPI_MODE_NOCHECK) != 0;
  }
  if (epoch_.unchecked) return MPI_SUCCESS;
  engine_.settle_locks();
  // For memory that is reached by operations only, the first operation to each target acquires its lock.
  bool const all =
      memory_.flavor == MPI_WIN_FLAVOR_SHARED || memory_.is_shared.load(std::memory_order_relaxed);
  int error = MPI_SUCCESS;
  for (int rank = 0; rank < processes_.size && error == MPI_SUCCESS; ++rank) {
    Target* const reached = all || rank == processes_.rank ? target(rank) : nullptr;
    if (reached == nullptr || (rank != processes_.rank && reached->view.local == nullptr)) continue;
    Target* opened = nullptr;
    error = begin_access(rank, &opened);
    if (error == MPI_SUCCESS) error = wait_for_queue(*opened);
  }
  if (error != MPI_SUCCESS) (void)unlock_all();
  return error;
}

int Window::unlock_all() {
  if (!epoch_.is(Epoch::lock_all)) return MPI_ERR_RMA_SYNC;
  int error = MPI_SUCCESS;
  for (Target* const opened : epoch_.opened) {
    error = first_of(error, wait_for_queue(*opened));
    error = first_of(error, give_back_lock(*opened));
  }
  return first_of(complete_opened(), error);
}

void Window::end_epochs() {
  if (!exposure_epoch_.is_open && epoch_.permits_fence()) return;
  engine::Log const log(verbose, engine_.process());
  log.write(engine::LogLevel::life, "window %u: MPI_Finalize frees it although %s", number(), epoch_text());
  while (epoch_.is(Epoch::locks)) (void)unlock(epoch_.opened.back()->rank);
  if (epoch_.is(Epoch::lock_all)) (void)unlock_all();
  if (epoch_.is(Epoch::group)) {
    abandon_queues();
    (void)complete_opened();
  }
  exposure_epoch_.is_open = false;
}

/// Completes the access epoch at all its targets.
int Window::complete_opened() {
  std::vector<Target*> opened;
  {
    Guard const guard(epoch_.lock);
    opened.swap(epoch_.opened);
  }
  int error = MPI_SUCCESS;
  for (Target* const target : opened) {
    error = first_of(error, wait_for_queue(*target));
    if (target->outstanding.is_set()) error = first_of(error, complete_messages(*target));
    if (target->is_queued()) leave_queue(*target);
    target->close();
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);
  Guard const guard(epoch_.lock);
  epoch_.kind.store(Epoch::none, std::memory_order_relaxed);
  if (epoch_.opened.empty()) {
    opened.clear();
    epoch_.opened.swap(opened);  // keep its memory
  }
  return error;
}

}  // namespace mpixrma::windows
