#include "mpi-windows/epochs/target_lock.hpp"

#include <utility>

#include "mpi-windows/epochs/completion.hpp"
#include "mpi-windows/epochs/nam_lock.hpp"
#include "mpi-windows/state/failure.hpp"

namespace mpixrma::windows {

namespace {

/// Sets the fields of a shared-lock request that describe the locks that this process holds.
void describe_held(Window& window, Target& target, engine::LockRequest* request) {
  engine::LockClock& own = window.engine.locks.clock();
  if (engine::LockClock const* const peer_clock = window.engine.locks.clock(*target.process))
    own.raise(peer_clock->now());
  Window::held_locks.describe(own.now(), &target.lock_requested_after, request);
}

}  // namespace

int take_lock_slow_path(Window& window, Target& target, engine::LockMode mode) {
  Awaited awaited = Awaited::nothing;
  int const error = request_lock(window, target, mode, LockWay::in_stream, &awaited);
  if (awaited == Awaited::nothing) return error;
  if (awaited == Awaited::nam_lock) {
    window.engine.waits.until([&] { return try_nam_lock(window, target); });
  } else {
    window.engine.waits.until(*target.process, [&] { return take_lock_decision(window, target); });
  }
  return target.queue->refusal;
}

int request_lock(Window& window, Target& target, engine::LockMode mode, LockWay way, Awaited* awaited) {
  TargetQueue& queue = queue_of(target);
  queue.request = {.lock = target.lock_id, .mode = mode, .owner = lock_owner, .skips_pending = true};
  queue.refused = engine::Status::ok;
  queue.refusal = MPI_SUCCESS;
  if (window.nam != nullptr) {
    *awaited = Awaited::nam_lock;
    request_nam_lock(window, target);
    return MPI_SUCCESS;
  }
  if (mode == engine::LockMode::shared) describe_held(window, target, &queue.request);
  Lock const held = mode == engine::LockMode::exclusive ? Lock::exclusive : Lock::shared;
  if (way == LockWay::in_stream && !window.stores.is_thread_multiple() &&
      target.memory_owner == target.process && window.engine.locks.none_pending_or_request_ack()) {
    if (auto const issued =
            window.engine.locks.acquire_in_stream(*target.process, queue.request, window.context)) {
      if (engine::failed(issued->status)) return class_of(window, issued->status);
      target.outstanding.raise(issued->sequence);
      target.lock = held;
      note_granted(window, target, queue.request);
      return MPI_SUCCESS;
    }
  }
  queue.grant.is_done.store(false, std::memory_order_relaxed);
  queue.request.completion = &queue.grant;
  engine::Issued const issued = window.engine.locks.acquire(*target.process, queue.request);
  queue.requested_at = issued.sequence;
  if (!issued.complete) *awaited = Awaited::lock;
  if (issued.complete && !engine::failed(issued.status)) target.lock = held;
  return issued.complete ? class_of(window, issued.status) : MPI_SUCCESS;
}

bool wait_until_received(Window& window, Target& target, Awaited awaited) {
  if (awaited == Awaited::nam_lock) return try_nam_lock(window, target);
  constexpr unsigned polls_before_question = 1000;
  TargetQueue& queue = *target.queue;
  unsigned polls = 0;
  window.engine.waits.until(*target.process, [&] {
    if (queue.grant.is_done.load(std::memory_order_acquire)) return true;
    // After many polls, test() requests an acknowledgement from the target by a message.
    return ++polls > polls_before_question && window.engine.order.test(*target.process, queue.requested_at);
  });
  return take_lock_decision(window, target);
}

bool take_lock_decision(Window& window, Target& target) {
  TargetQueue& queue = *target.queue;
  if (!queue.grant.is_done.load(std::memory_order_acquire)) return false;
  queue.refused = queue.grant.status;
  queue.refusal = class_of(window, queue.refused);
  if (engine::failed(queue.refused)) {
    if (target.granted != 0)
      window.cold->held.note_released(queue.request.mode, std::exchange(target.granted, 0));
    return true;
  }
  target.lock = queue.request.mode == engine::LockMode::exclusive ? Lock::exclusive : Lock::shared;
  if (target.granted == 0) note_granted(window, target, queue.request);
  return true;
}

void note_granted(Window& window, Target& target, engine::LockRequest const& request) {
  target.granted = window.cold->held.note_granted(request.mode, request.time);
}

int release_behind_operations(Window& window, Target& target) {
  Lock const held = std::exchange(target.lock, Lock::none);
  if (held == Lock::none || held == Lock::unchecked) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return MPI_SUCCESS;
  }
  if (std::uint64_t const grant = std::exchange(target.granted, 0); grant != 0) {
    auto const mode = held == Lock::exclusive ? engine::LockMode::exclusive : engine::LockMode::shared;
    window.cold->held.note_released(mode, grant);
  }
  int error = MPI_SUCCESS;
  if (window.nam != nullptr) {
    if (target.outstanding.is_set()) error = complete_messages(window, target);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    release_nam_lock(window, target);
    return error;
  }
  if (target.memory_owner != target.process && target.outstanding.is_set())
    error = complete_messages(window, target);
  engine::Issued const issued =
      window.engine.locks.release(*target.process, target.lock_id, lock_owner, window.context);
  return first_of(error, class_of(window, issued.status));
}

}  // namespace mpixrma::windows
