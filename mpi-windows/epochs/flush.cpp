/// Window: ordering and completion of operations in passive-target epochs.
#include <algorithm>
#include <new>
#include <span>

#include "mpi-windows/operations/request.hpp"
#include "mpi-windows/state/window.hpp"

namespace mpixrma::windows {

/// Returns the target of a passive epoch. `*used` is nullptr if no operation of the epoch has accessed the
/// target.
int Window::find_passive(int rank, Target** used) const noexcept {
  if (!processes_.contains(rank)) return MPI_ERR_RANK;
  *used = targets_.find_used(rank);
  bool const permitted = *used != nullptr ? epoch_.is_passive() : epoch_.is(Epoch::lock_all);
  return permitted ? MPI_SUCCESS : MPI_ERR_RMA_SYNC;
}

int Window::flush_any(int rank, Level level) {
  Target* used = nullptr;
  int error = find_passive(rank, &used);
  if (error == MPI_SUCCESS && used != nullptr) {
    error = wait_for_queue(*used);
    error = first_of(error, level == Level::local ? complete_locally(*used) : complete(*used));
  }
  return told(error, level == Level::local ? "MPI_Win_flush_local" : "MPI_Win_flush", rank);
}

int Window::flush_all(Level level) {
  if (!epoch_.is_passive()) return MPI_ERR_RMA_SYNC;
  int const error = wait_for_queues();
  if (level == Level::remote) return first_of(error, complete_all());
  targets_.for_each([this](Target& target) { complete_locally(target); });
  return error;
}

/// Orders the operations that are issued.
int Window::order_now(Target& target) {
  std::uint64_t const sequence = target.outstanding.get();
  if (sequence == 0) return MPI_SUCCESS;
  // Direct accesses bypass the engine and do not check for outstanding messages, and the parts of a striped
  // region are at processes that cannot order operations among each other. So wait for the messages.
  if (target.view.local != nullptr || target.divided != nullptr) return complete_messages(target);
  engine_.fence(*target.memory, sequence);
  return MPI_SUCCESS;
}

int Window::order(Target& target) {
  if (target.is_queued()) {
    return enqueue(target, queued([](Window& window, Target& opened, engine::Status access) {
                     int const error = engine::failed(access) ? MPI_SUCCESS : window.order_now(opened);
                     window.stores_.complete();
                     return error;
                   }));
  }
  return order_now(target);
}

int Window::order(int rank) {
  Target* used = nullptr;
  int error = find_passive(rank, &used);
  if (error == MPI_SUCCESS && used != nullptr) error = order(*used);
  stores_.complete();  // orders the earlier stores before later loads
  return error;
}

int Window::order_all() {
  if (!epoch_.is_passive()) return MPI_ERR_RMA_SYNC;
  int error = MPI_SUCCESS;
  targets_.for_each([&](Target& target) { error = first_of(error, order(target)); });
  stores_.complete();
  return error;
}

int Window::begin_flush_all() {
  if (!epoch_.is_passive()) return MPI_ERR_RMA_SYNC;
  (void)serve_queues();
  targets_.for_each([this](Target& target) {
    for_each_part(target, [this](Target& part) {
      if (std::uint64_t const sequence = part.outstanding.get(); sequence != 0)
        (void)engine_.test(*part.memory, sequence);
    });
  });
  return MPI_SUCCESS;
}

/// Calls `completion`, of a part of the joint request, when the operations on the target are complete, those
/// in its queue included.
void Window::watch(Target& target, Level level, engine::JointCompletion& joint,
                   engine::Completion& completion) try {
  auto const begin = [=, &joint, &completion](Window& window, Target& opened, engine::Status access) {
    if (level == Level::remote) window.stores_.complete();
    for_each_part(opened, [&](Target& part) {
      std::uint64_t const sequence = part.outstanding.get();
      if (engine::failed(access) || sequence == 0) return;
      engine::Completion* const end = joint.add();
      if (end == nullptr) return joint.note(engine::Status::out_of_memory);
      level == Level::local ? window.engine_.watch_local(*part.memory, sequence, *end)
                            : window.engine_.watch(*part.memory, sequence, window.context_, *end);
    });
    completion.done(completion, access, 0);
    return MPI_SUCCESS;
  };
  (void)enqueue(target, queued(begin));
} catch (std::bad_alloc const&) {  // nothing is queued
  completion.done(completion, engine::Status::out_of_memory, 0);
}

/// Starts a wait for targets with outstanding messages or a queue.
int Window::iflush(std::span<Target* const> targets, Level level, MPI_Request* request) {
  if (level == Level::remote) stores_.complete();
  if (targets.empty()) {
    *request = completed_request();
    return MPI_SUCCESS;
  }
  engine::JointCompletion* const joint = open_joint_request(handle_, context_, joint_requests_, request);
  if (joint == nullptr) return MPI_ERR_NO_MEM;
  for (Target* const target : targets) {
    engine::Completion* const completion = joint->add();
    if (completion == nullptr) {
      joint->note(engine::Status::out_of_memory);
      break;
    }
    watch(*target, level, *joint, *completion);
  }
  joint->close();
  return MPI_SUCCESS;
}

namespace {

void add_outstanding(Target& target, std::vector<Target*>& pending) {
  bool waits = target.is_queued();
  for_each_part(target, [&](Target& part) { waits = waits || part.outstanding.is_set(); });
  if (waits) pending.push_back(&target);
}

}  // namespace

int Window::iflush(int rank, Level level, MPI_Request* request) {
  Target* used = nullptr;
  if (int const error = find_passive(rank, &used); error != MPI_SUCCESS) return error;
  std::vector<Target*> pending;
  if (used != nullptr) add_outstanding(*used, pending);
  return iflush(pending, level, request);
}

int Window::iflush_all(Level level, MPI_Request* request) {
  if (!epoch_.is_passive()) return MPI_ERR_RMA_SYNC;
  std::vector<Target*> pending;
  targets_.for_each([&](Target& target) { add_outstanding(target, pending); });
  return iflush(pending, level, request);
}

/// Waits until no joint request is pending.
void Window::end_joint_requests() {
  // Acquire: pairs with the release in JointCompletion::end().
  engine_.wait_until([this] { return joint_requests_.load(std::memory_order_acquire) == 0; });
}

}  // namespace mpixrma::windows
