#include "mpi-windows/epochs/queue.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "hosts/common/hosted.hpp"
#include "mpi-windows/epochs/active.hpp"
#include "mpi-windows/epochs/completion.hpp"
#include "mpi-windows/epochs/nam_lock.hpp"
#include "mpi-windows/epochs/target_lock.hpp"

namespace mpixrma::windows {

namespace {

/// The queues of the process. No call is issued while `lock` is held.
struct Queues {
  struct Entry {
    Window* window;
    Target* target;
    friend bool operator==(Entry const&, Entry const&) = default;
  };

  std::mutex lock;
  std::vector<Entry> entries;

  void add(Entry entry) {
    entries.push_back(entry);
    queued_targets.fetch_add(1, std::memory_order_relaxed);
  }
  void remove(Target const& target) noexcept {
    queued_targets.fetch_sub(
        std::erase_if(entries, [&](Entry const& entry) { return entry.target == &target; }),
        std::memory_order_relaxed);
  }
};

Queues& queues() {
  static Queues instance;
  return instance;
}

/// Whether messages to the processes of the target wait for a lock that MPI_Win_lock has requested, on this
/// window or on another one.
bool waits_in_stream(engine::Engine& engine, Target const& target) {
  auto const waits = [&](engine::Peer* peer) {
    return peer != nullptr && engine.locks.stream_may_wait_for_lock(*peer);
  };
  return waits(target.memory_owner) || (target.process != target.memory_owner && waits(target.process));
}

/// Whether the post has arrived, or the calls must fail because it cannot arrive any more.
bool post_is_decided(Window& window, Target& target) {
  // Read before take_post(): a post that arrived before the loss still counts.
  bool const is_lost = target.process_is_lost();
  if (take_post(window, target)) return true;
  if (!is_lost) return false;
  target.queue->refused = engine::Status::unreachable;
  target.queue->refusal = loss_of_process(window, target.rank);
  return true;
}

/// Whether the wait is over: the calls are then issued, or fail because the lock was refused or the target
/// has ended. Updates `awaited`.
bool may_issue(Window& window, Target& target) {
  TargetQueue& queue = *target.queue;
  bool const has_occurred = queue.awaited == Awaited::nothing ||
                            (queue.awaited == Awaited::post && post_is_decided(window, target)) ||
                            (queue.awaited == Awaited::lock && take_lock_decision(window, target)) ||
                            (queue.awaited == Awaited::nam_lock && try_nam_lock(window, target)) ||
                            queue.awaited == Awaited::stream;
  if (!has_occurred) return false;
  // A queued operation must not wait for an in-stream lock: this thread has to serve other queues meanwhile.
  queue.awaited = waits_in_stream(window.engine, target) ? Awaited::stream : Awaited::nothing;
  return queue.awaited == Awaited::nothing;
}

/// As may_issue(), for a queue that this thread serves. If it throws, other threads may serve the queue.
bool may_issue_served(Window& window, Target& target) {
  try {
    return may_issue(window, target);
  } catch (...) {
    std::lock_guard const held(queues().lock);
    target.queue->is_being_served = false;
    throw;
  }
}

/// A call with a request reports a lack of memory through the request.
int issue_call(QueuedCall& call, Window& window, Target& target, engine::Status access) {
  try {
    return call.issue(window, target, access);
  } catch (std::bad_alloc const&) {
    return MPI_ERR_NO_MEM;
  }
}

int issue_queued(Window& window, Target& target) {
  TargetQueue& queue = *target.queue;
  window.stores.note();
  int issued = 0;
  std::unique_lock held(queues().lock);
  for (; !queue.calls.empty(); ++issued) {
    std::unique_ptr<QueuedCall> call = std::move(queue.calls.front());
    queue.calls.pop_front();
    held.unlock();
    int const error = issue_call(*call, window, target, queue.refused);
    call.reset();
    held.lock();
    queue.error = first_of(queue.error, error);
  }
  queue.is_being_served = false;
  queue.error = first_of(queue.error, queue.refusal);
  if (queue.error == MPI_SUCCESS) {
    queues().remove(target);
    target.open();
  }
  return issued;
}

/// Called with Queues::lock held.
bool has_issued_all(Target const& target) {
  TargetQueue const& queue = *target.queue;
  bool const is_empty = !queue.is_being_served && queue.awaited == Awaited::nothing && queue.calls.empty();
  return is_empty || target.access.load(std::memory_order_relaxed) != EpochAccess::queued;
}

/// If all calls are issued, takes the failure and, unless access was refused, opens the target. Holds
/// Queues::lock throughout, because another thread might otherwise add a call that nobody issues. Returns
/// false if some calls are not issued.
bool end_queue(Target& target, int* error) {
  TargetQueue& queue = *target.queue;
  std::lock_guard const held(queues().lock);
  if (!has_issued_all(target)) return false;
  if (target.access.load(std::memory_order_relaxed) != EpochAccess::queued) return true;
  *error = std::exchange(queue.error, MPI_SUCCESS);
  if (engine::failed(queue.refused)) return true;  // later calls are refused too
  queues().remove(target);
  target.open();
  return true;
}

}  // namespace

TargetQueue& queue_of(Target& target) {
  if (target.queue == nullptr) target.queue = std::make_unique<TargetQueue>();
  return *target.queue;
}

void begin_queue(Window& window, Target& target, Awaited awaited) {
  TargetQueue& queue = queue_of(target);
  queue.awaited = awaited;
  if (awaited == Awaited::post || awaited == Awaited::stream) {
    queue.refused = engine::Status::ok;
    queue.refusal = MPI_SUCCESS;
  }
  std::lock_guard const held(queues().lock);
  queue.error = MPI_SUCCESS;
  queues().add({&window, &target});
  // Release: pairs with the acquire in Target::is_queued().
  target.access.store(EpochAccess::queued, std::memory_order_release);
}

void queue_behind_lock(Window& window, Target& target) {
  if (!target.is_open() || !waits_in_stream(window.engine, target)) return;
  target.accessible_bytes.store(0, std::memory_order_relaxed);
  target.traced_bytes.store(0, std::memory_order_relaxed);
  begin_queue(window, target, Awaited::stream);
}

void remove_queue(Window& window, Target& target) {
  window.engine.waits.until([&] {
    std::lock_guard const held(queues().lock);
    if (target.queue->is_being_served) return false;
    queues().remove(target);
    target.close();
    return true;
  });
}

int enqueue(Window& window, Target& target, std::unique_ptr<QueuedCall> call) {
  {
    std::lock_guard const held(queues().lock);
    if (target.access.load(std::memory_order_relaxed) == EpochAccess::queued) {
      target.queue->calls.push_back(std::move(call));
      return MPI_SUCCESS;
    }
  }
  return call->issue(window, target, engine::Status::ok);
}

int serve_queue(Window& window, Target& target) {
  TargetQueue& queue = *target.queue;
  {
    std::lock_guard const held(queues().lock);
    if (queue.is_being_served || target.access.load(std::memory_order_relaxed) != EpochAccess::queued)
      return 0;
    queue.is_being_served = true;
  }
  if (may_issue_served(window, target)) return issue_queued(window, target);
  std::lock_guard const held(queues().lock);
  queue.is_being_served = false;
  return 0;
}

int serve_queues() {
  // Relaxed: the thread that waits for a queue has counted it.
  if (queued_targets.load(std::memory_order_relaxed) == 0) return 0;
  std::unique_lock held(queues().lock);
  std::vector<Queues::Entry> const entries = queues().entries;
  int issued = 0;
  for (Queues::Entry const& entry : entries) {
    // The window exists as long as its target is listed, and a target that is served stays listed.
    if (std::ranges::find(queues().entries, entry) == queues().entries.end()) continue;
    TargetQueue& queue = *entry.target->queue;
    if (queue.is_being_served) continue;
    queue.is_being_served = true;
    held.unlock();
    if (may_issue_served(*entry.window, *entry.target)) {
      issued += issue_queued(*entry.window, *entry.target);
      held.lock();
    } else {
      held.lock();
      queue.is_being_served = false;
    }
  }
  return issued;
}

bool is_drained(Target const& target) {
  std::lock_guard const held(queues().lock);
  return has_issued_all(target);
}

int take_queue_failure(Target& target) {
  std::lock_guard const held(queues().lock);
  bool const is_queued = target.access.load(std::memory_order_relaxed) == EpochAccess::queued;
  return is_queued ? std::exchange(target.queue->error, MPI_SUCCESS) : MPI_SUCCESS;
}

/// Out of line: MPI_Win_unlock hardly ever calls it.
__attribute__((noinline)) int wait_for_queue(Window& window, Target& target) {
  if (!target.is_queued()) return MPI_SUCCESS;
  int error = MPI_SUCCESS;
  window.engine.waits.until([&] {
    (void)serve_queues();
    return end_queue(target, &error);
  });
  (void)mpix_host_operations()->deliver_completions();  // keeps failures whose requests are freed
  return error;
}

int wait_for_queues(Window& window) {
  int error = MPI_SUCCESS;
  if (queued_targets.load(std::memory_order_relaxed) == 0) return error;
  window.targets.for_each([&](Target& target) { error = first_of(error, wait_for_queue(window, target)); });
  return error;
}

void abandon_queues(Window& window) {
  for (Target* const target : window.epoch.opened) {
    if (!target->is_queued()) continue;
    target->queue->awaited = Awaited::nothing;
    target->queue->refused = engine::Status::unreachable;
  }
}

}  // namespace mpixrma::windows
