#include "mpi-windows/epochs/flush.hpp"

#include <algorithm>
#include <new>
#include <span>

#include "mpi-windows/epochs/completion.hpp"
#include "mpi-windows/epochs/queue.hpp"
#include "mpi-windows/state/failure.hpp"
#include "mpi-windows/state/request.hpp"
#include "mpi-windows/state/unreported_failures.hpp"

namespace mpixrma::windows {

namespace {

/// Finds the target of a call in a passive-target epoch. `*used` is nullptr if neither a lock call nor an
/// operation of the epoch has opened the target.
int find_locked_target(Window const& window, int rank, Target** used) noexcept {
  if (!window.processes.contains(rank)) return MPI_ERR_RANK;
  *used = window.targets.find_opened(rank);
  bool const permitted = *used != nullptr ? window.epoch.is_passive() : window.epoch.is(Epoch::lock_all);
  return permitted ? MPI_SUCCESS : MPI_ERR_RMA_SYNC;
}

/// Orders the operations issued so far before later ones.
int order_now(Window& window, Target& target) {
  std::uint64_t const sequence = target.outstanding.get();
  if (sequence == 0) return MPI_SUCCESS;
  // Direct accesses bypass the engine and do not check for outstanding messages, and the parts of a striped
  // region are at processes that cannot order operations among each other. So wait for the messages.
  if (target.view.local != nullptr || target.memory_owner == nullptr)
    return complete_messages(window, target);
  window.engine.order.fence(*target.memory_owner, sequence);
  return MPI_SUCCESS;
}

int order_target(Window& window, Target& target) {
  if (target.is_queued()) {
    return enqueue(window, target, queued([](Window& issuer, Target& opened, engine::Status access) {
                     int const error = engine::failed(access) ? MPI_SUCCESS : order_now(issuer, opened);
                     issuer.stores.complete();
                     return error;
                   }));
  }
  return order_now(window, target);
}

/// Enqueues a call that adds a part to `aggregate` for each process with outstanding operations, and then
/// calls `completion`, which keeps the aggregate open until then, with the failure of an earlier queued call
/// or of the lock.
void watch(Window& window, Target& target, Level level, engine::AggregateCompletion& aggregate,
           engine::AggregateCompletion::Part& completion) try {
  auto const begin = [=, &aggregate, &completion](Window& issuer, Target& opened, engine::Status access) {
    if (level == Level::remote) issuer.stores.complete();
    for_each_outstanding(opened, [&](Target& part, std::uint64_t sequence) {
      if (engine::failed(access)) return;
      engine::AggregateCompletion::Part* const completed = aggregate.add({.object = &part});
      if (completed == nullptr) return aggregate.record(engine::Status::out_of_memory);
      level == Level::local ? issuer.engine.order.watch_local(*part.memory_owner, sequence, *completed)
                            : issuer.engine.order.watch(*part.memory_owner, sequence, issuer.context,
                                                        *completed, &completed->error);
    });
    if (engine::failed(access))
      completion.target = {.rank = opened.rank, .error = opened.queue->refusal};
    else if (level == Level::remote)
      completion.target = {.rank = opened.rank,
                           .error = first_of(take_queue_failure(opened), take_unreported(issuer))};
    bool const failed_in_queue = completion.target.error != MPI_SUCCESS;
    completion.done(completion, failed_in_queue ? engine::Status::bad_argument : access, 0);
    return MPI_SUCCESS;
  };
  (void)enqueue(window, target, queued(begin));
} catch (std::bad_alloc const&) {  // nothing is queued
  completion.done(completion, engine::Status::out_of_memory, 0);
}

/// Starts a request that completes with the operations on these targets, which have outstanding messages or a
/// queue.
int iflush_targets(Window& window, std::span<Target* const> targets, Level level, MPI_Request* request) {
  if (level == Level::remote) window.stores.complete();
  if (targets.empty()) {
    *request = completed_request();
    return MPI_SUCCESS;
  }
  engine::AggregateCompletion* const aggregate = open_aggregate_request(window, request);
  if (aggregate == nullptr) return MPI_ERR_NO_MEM;
  for (Target* const target : targets) {
    engine::AggregateCompletion::Part* const completion = aggregate->add();
    if (completion == nullptr) {
      aggregate->record(engine::Status::out_of_memory);
      break;
    }
    watch(window, *target, level, *aggregate, *completion);
  }
  aggregate->close();
  return MPI_SUCCESS;
}

void add_outstanding(Target& target, std::vector<Target*>& pending) {
  if (target.is_queued() || target.outstanding.is_set()) pending.push_back(&target);
}

}  // namespace

int flush_slow_path(Window& window, int rank, Level level, char const* call) {
  Target* used = nullptr;
  int error = find_locked_target(window, rank, &used);
  if (error == MPI_SUCCESS && used != nullptr) {
    error = wait_for_queue(window, *used);
    if (level == Level::local)
      complete_locally(window, *used);
    else
      error = first_of(error, complete_target(window, *used));
    error = first_of(error, loss_of(window, *used));
  }
  return report(window, error, call, rank);
}

int flush_all(Window& window, Level level) {
  if (!window.epoch.is_passive()) return MPI_ERR_RMA_SYNC;
  int error = wait_for_queues(window);
  if (level == Level::remote) {
    error = first_of(error, complete_all(window));
  } else {
    window.targets.for_each([&window](Target& target) { complete_locally(window, target); });
  }
  return first_of(error, report_losses(window));
}

int order(Window& window, int rank) {
  Target* used = nullptr;
  int error = find_locked_target(window, rank, &used);
  if (error == MPI_SUCCESS && used != nullptr) error = order_target(window, *used);
  window.stores.complete();  // orders the earlier stores before later loads
  return error;
}

int order_all(Window& window) {
  if (!window.epoch.is_passive()) return MPI_ERR_RMA_SYNC;
  int error = MPI_SUCCESS;
  window.targets.for_each([&](Target& target) { error = first_of(error, order_target(window, target)); });
  window.stores.complete();
  return error;
}

int begin_flush_all(Window& window) {
  if (!window.epoch.is_passive()) return MPI_ERR_RMA_SYNC;
  (void)serve_queues();
  window.targets.for_each([&window](Target& target) {
    for_each_outstanding(target, [&window](Target& part, std::uint64_t sequence) {
      (void)window.engine.order.test(*part.memory_owner, sequence);
    });
  });
  return MPI_SUCCESS;
}

int iflush(Window& window, int rank, Level level, MPI_Request* request) {
  Target* used = nullptr;
  if (int const error = find_locked_target(window, rank, &used); error != MPI_SUCCESS) return error;
  if (used != nullptr && used->is_lost()) return loss_of(window, *used);
  std::vector<Target*> pending;
  if (used != nullptr) add_outstanding(*used, pending);
  return iflush_targets(window, pending, level, request);
}

int iflush_all(Window& window, Level level, MPI_Request* request) {
  if (!window.epoch.is_passive()) return MPI_ERR_RMA_SYNC;
  if (int const error = report_losses(window); error != MPI_SUCCESS) return error;
  std::vector<Target*> pending;
  window.targets.for_each([&](Target& target) { add_outstanding(target, pending); });
  return iflush_targets(window, pending, level, request);
}

void wait_for_aggregate_requests(Window& window) {
  // Acquire: pairs with the release in AggregateCompletion::end().
  window.engine.waits.until(
      [&window] { return window.aggregate_requests.load(std::memory_order_acquire) == 0; });
}

int sync(Window& window) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  window.engine.waits.progress();
  (void)serve_queues();
  return MPI_SUCCESS;
}

}  // namespace mpixrma::windows
