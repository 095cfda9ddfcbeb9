/// Window: queues of calls whose targets may not be accessed yet.
#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "mpi-windows/state/window.hpp"

namespace mpixrma::windows {

namespace {

/// The queues of the process. No call is issued while the lock is held.
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

/// Whether messages to the processes of the target wait for a lock that MPI_Win_lock has requested, of this
/// window or of another one.
bool waits_in_stream(engine::Engine& engine, Target const& target) {
  auto const waits = [&](engine::Peer* peer) { return peer != nullptr && engine.waits_for_lock(*peer); };
  return waits(target.memory) || (target.process != target.memory && waits(target.process));
}

}  // namespace

/// The queue is made before other threads see that the target has one.
TargetQueue& Window::queue_of(Target& target) {
  if (target.queue == nullptr) target.queue = std::make_unique<TargetQueue>();
  return *target.queue;
}

void Window::begin_queue(Target& target, Awaited awaited) {
  TargetQueue& queue = queue_of(target);
  queue.awaited = awaited;
  std::lock_guard const held(queues().lock);
  queue.error = MPI_SUCCESS;
  queues().add({this, &target});
  // Release: pairs with the acquire in Target::is_queued().
  target.access.store(Access::queued, std::memory_order_release);
}

void Window::queue_behind_lock(Target& target) {
  if (!target.is_open() || !waits_in_stream(engine_, target)) return;
  queue_of(target).refused = engine::Status::ok;
  target.queue->refusal = MPI_SUCCESS;
  target.reachable.store(0, std::memory_order_relaxed);
  begin_queue(target, Awaited::stream);
}

void Window::leave_queue(Target& target) {
  std::lock_guard const held(queues().lock);
  queues().remove(target);
}

int Window::enqueue(Target& target, std::unique_ptr<QueuedCall> call) {
  {
    std::lock_guard const held(queues().lock);
    if (target.access.load(std::memory_order_relaxed) == Access::queued) {
      target.queue->calls.push_back(std::move(call));
      return MPI_SUCCESS;
    }
  }
  return call->issue(*this, target, engine::Status::ok);
}

/// Whether the calls may be issued, or must be refused.
bool Window::is_granted(Target& target) {
  TargetQueue& queue = *target.queue;
  bool const comes =
      queue.awaited == Awaited::nothing || (queue.awaited == Awaited::post && has_post(target)) ||
      (queue.awaited == Awaited::lock && has_lock(target)) ||
      (queue.awaited == Awaited::nam_lock && has_nam_lock(target)) || queue.awaited == Awaited::stream;
  if (!comes) return false;
  // A queued operation must not wait for the lock either: it would keep the thread from other queues.
  queue.awaited = waits_in_stream(engine_, target) ? Awaited::stream : Awaited::nothing;
  return queue.awaited == Awaited::nothing;
}

/// Issues the calls in the queue of a target if they may be issued now. Afterwards the target is open, unless
/// a failure waits to be reported. Returns the number of calls.
int Window::serve(Target& target) {
  TargetQueue& queue = *target.queue;
  {
    std::lock_guard const held(queues().lock);
    if (queue.is_served || target.access.load(std::memory_order_relaxed) != Access::queued) return 0;
    queue.is_served = true;
  }
  if (is_granted(target)) return issue_queued(target);
  std::lock_guard const held(queues().lock);
  queue.is_served = false;
  return 0;
}

int Window::issue_queued(Target& target) {
  TargetQueue& queue = *target.queue;
  stores_.note();
  int issued = 0;
  std::unique_lock held(queues().lock);
  for (; !queue.calls.empty(); ++issued) {
    std::unique_ptr<QueuedCall> call = std::move(queue.calls.front());
    queue.calls.pop_front();
    held.unlock();
    int const error = call->issue(*this, target, queue.refused);
    call.reset();
    held.lock();
    queue.error = first_of(queue.error, error);
  }
  queue.is_served = false;
  queue.error = first_of(queue.error, queue.refusal);
  if (queue.error == MPI_SUCCESS) {
    queues().remove(target);
    target.open();
  }
  return issued;
}

int Window::serve_queues() {
  // Relaxed: the thread that waits for a queue has counted it.
  if (queued_targets.load(std::memory_order_relaxed) == 0) return 0;
  std::unique_lock held(queues().lock);
  std::vector<Queues::Entry> const entries = queues().entries;
  int issued = 0;
  for (Queues::Entry const& entry : entries) {
    // The window exists as long as its target is listed, and a target that is served stays listed.
    if (std::ranges::find(queues().entries, entry) == queues().entries.end()) continue;
    TargetQueue& queue = *entry.target->queue;
    if (queue.is_served) continue;
    queue.is_served = true;
    held.unlock();
    if (entry.window->is_granted(*entry.target)) {
      issued += entry.window->issue_queued(*entry.target);
      held.lock();
    } else {
      held.lock();
      queue.is_served = false;
    }
  }
  return issued;
}

/// Whether all calls in the queue are issued.
bool Window::is_drained(Target const& target) {
  std::lock_guard const held(queues().lock);
  TargetQueue const& queue = *target.queue;
  bool const is_empty = !queue.is_served && queue.awaited == Awaited::nothing && queue.calls.empty();
  return is_empty || target.access.load(std::memory_order_relaxed) != Access::queued;
}

/// Waits until all calls in the queue are issued. Returns their first failure, or that of the lock.
int Window::wait_for_queue(Target& target) {
  if (!target.is_queued()) return MPI_SUCCESS;
  TargetQueue& queue = *target.queue;
  engine_.wait_until([&] {
    (void)serve_queues();
    return is_drained(target);
  });
  std::lock_guard const held(queues().lock);
  if (target.access.load(std::memory_order_relaxed) != Access::queued) return MPI_SUCCESS;
  int const error = std::exchange(queue.error, MPI_SUCCESS);
  if (engine::failed(queue.refused)) return error;  // later calls are refused too
  queues().remove(target);
  target.open();
  return error;
}

int Window::wait_for_queues() {
  int error = MPI_SUCCESS;
  if (queued_targets.load(std::memory_order_relaxed) == 0) return error;
  targets_.for_each([&](Target& target) { error = first_of(error, wait_for_queue(target)); });
  return error;
}

/// Refuses the queued calls of an epoch whose posts never arrive.
void Window::abandon_queues() {
  for (Target* const target : epoch_.opened) {
    if (!target->is_queued()) continue;
    target->queue->awaited = Awaited::nothing;
    target->queue->refused = engine::Status::unreachable;
  }
}

}  // namespace mpixrma::windows
