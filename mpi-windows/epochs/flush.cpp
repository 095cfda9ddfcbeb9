/// Window: ordering and completion of operations in passive-target epochs.
#include <algorithm>
#include <span>

#include "mpi-windows/operations/joint_request.hpp"
#include "mpi-windows/state/window.hpp"

namespace mpixrma::windows {

/// Returns the target of a passive epoch. `*used` is nullptr if no operation of the epoch has accessed the
/// target.
int Window::find_passive(int rank, Target** used) const noexcept {
  if (rank < 0 || rank >= size_) return MPI_ERR_RANK;
  *used = open_target(rank);
  bool const permitted =
      *used != nullptr ? is_passive() : epoch_.load(std::memory_order_relaxed) == Epoch::lock_all;
  return permitted ? MPI_SUCCESS : MPI_ERR_RMA_SYNC;
}

int Window::flush_any(int rank, Level level) {
  Target* used = nullptr;
  int error = find_passive(rank, &used);
  if (error == MPI_SUCCESS && used != nullptr)
    error = level == Level::local ? complete_locally(*used) : complete(*used);
  return told(error, level == Level::local ? "MPI_Win_flush_local" : "MPI_Win_flush", rank);
}

int Window::flush_all(Level level) {
  if (!is_passive()) return MPI_ERR_RMA_SYNC;
  if (level == Level::remote) return complete_all();
  targets_.for_each([this](Target& target) { complete_locally(target); });
  return MPI_SUCCESS;
}

int Window::order(Target& target) {
  std::uint64_t const sequence = target.outstanding.get();
  if (sequence == 0) return MPI_SUCCESS;
  // Direct accesses bypass the engine and do not check for outstanding messages, and the parts of a striped
  // region are at processes that cannot order operations among each other. So wait for the messages.
  if (target.view.local != nullptr || target.divided != nullptr) return complete_messages(target);
  engine_.fence(*target.memory, sequence);
  return MPI_SUCCESS;
}

int Window::order(int rank) {
  Target* used = nullptr;
  int error = find_passive(rank, &used);
  if (error == MPI_SUCCESS && used != nullptr) error = order(*used);
  settle();  // orders the earlier stores before later loads
  return error;
}

int Window::order_all() {
  if (!is_passive()) return MPI_ERR_RMA_SYNC;
  int error = MPI_SUCCESS;
  targets_.for_each([&](Target& target) { error = first_of(error, order(target)); });
  settle();
  return error;
}

int Window::begin_flush_all() {
  if (!is_passive()) return MPI_ERR_RMA_SYNC;
  targets_.for_each([this](Target& target) {
    for_each_part(target, [this](Target& part) {
      if (std::uint64_t const sequence = part.outstanding.get(); sequence != 0)
        (void)engine_.test(*part.memory, sequence);
    });
  });
  return MPI_SUCCESS;
}

/// Starts a wait for targets, or parts of them, with outstanding messages.
int Window::iflush(std::span<Target* const> targets, Level level, MPI_Request* request) {
  if (level == Level::remote) settle();
  if (targets.empty()) {
    *request = completed_request();
    return MPI_SUCCESS;
  }
  JointRequest* const joint = JointRequest::open(handle_, context_, joint_requests_, request);
  if (joint == nullptr) return MPI_ERR_NO_MEM;
  for (Target* const target : targets) {
    engine::Completion* const completion = joint->add();
    if (completion == nullptr) {
      joint->note(engine::Status::out_of_memory);
      break;
    }
    std::uint64_t const sequence = target->outstanding.get();
    level == Level::local ? engine_.watch_local(*target->memory, sequence, *completion)
                          : engine_.watch(*target->memory, sequence, context_, *completion);
  }
  joint->close();
  return MPI_SUCCESS;
}

namespace {

void add_outstanding(Target& target, std::vector<Target*>& pending) {
  for_each_part(target, [&](Target& part) {
    if (part.outstanding.is_set()) pending.push_back(&part);
  });
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
  if (!is_passive()) return MPI_ERR_RMA_SYNC;
  std::vector<Target*> pending;
  targets_.for_each([&](Target& target) { add_outstanding(target, pending); });
  return iflush(pending, level, request);
}

/// Waits until no joint request is pending.
void Window::end_joint_requests() {
  // Acquire: pairs with the release in JointRequest::end().
  engine_.wait_until([this] { return joint_requests_.load(std::memory_order_acquire) == 0; });
}

}  // namespace mpixrma::windows
