#include "mpi-windows/operations/queued.hpp"

#include <new>
#include <utility>

#include "mpi-windows/epochs/completion.hpp"
#include "mpi-windows/operations/operation.hpp"

namespace mpixrma::windows {

namespace {

using engine::OwnedLayout;

/// An operation with the layouts that it refers to.
class QueuedOperation final : public QueuedCall {
 public:
  QueuedOperation(engine::RmaOp const& operation, int notification)
      : operation_(operation), notification_(notification), target_(operation.target_layout) {
    operation_.completion = nullptr;
    operation_.flags = without(operation.flags, engine::OpFlags::no_lock_wait);
    operation_.target_layout = target_.view();
    if (operation.operands() != 0 || operation.is_get()) {
      origin_ = OwnedLayout(operation.origin_layout);
      operation_.origin_layout = origin_.view();
    }
    if (operation.result != nullptr) {
      result_ = OwnedLayout(operation.result_layout);
      operation_.result_layout = result_.view();
    }
  }

  /// Without memory for its place in the queue, the call is dropped, and its request with it.
  ~QueuedOperation() override {
    if (completion_ != nullptr) drop_request(completion_);
  }

  void give_request(RequestCompletion* completion) noexcept { completion_ = completion; }

  int issue(Window& window, Target& target, engine::Status access) override {
    if (engine::failed(access)) return finish(access);
    try {
      return issue_permitted(window, target);
    } catch (std::bad_alloc const&) {
      if (completion_ == nullptr) throw;
      return finish(engine::Status::out_of_memory);
    }
  }

 private:
  int issue_permitted(Window& window, Target& target) {
    bool const notifies = notification_ != no_notification;
    bool const counter_is_elsewhere =
        notifies && (target.memory_owner != target.process || operation_.target_layout.size() == 0);
    if (completion_ == nullptr || target.memory_owner == nullptr || counter_is_elsewhere)
      return issue_and_wait(window, target);
    if (notifies) {
      int const error = find_counter(window, target, notification_, &operation_.notify);
      if (error != MPI_SUCCESS) return finish_with(counter_error(target, error));
    } else if (try_load_store(window, target, operation_)) {
      return finish(engine::Status::ok);
    }
    operation_.completion = completion_;
    engine::Issued const issued = issue_to_engine(window, target, operation_);
    if (issued.complete) return finish(issued.status);
    completion_ = nullptr;  // the engine completes it
    return MPI_SUCCESS;
  }
  /// Issues the operation while the target is still queued. An operation with a request is complete on
  /// return.
  int issue_and_wait(Window& window, Target& target) {
    int error = issue_with_notification(window, target, operation_, notification_, nullptr);
    if (notification_ != no_notification) error = counter_error(target, error);
    if (completion_ == nullptr) return error;
    // Other operations have been waited for alone.
    if (error == MPI_SUCCESS && target.memory_owner == nullptr) error = complete_target(window, target);
    return finish_with(error);
  }
  /// Returns the error of an operation with a notification.
  int counter_error(Target const& target, int error) const {
    return error == MPI_ERR_ARG ? missing_counter(target, notification_) : error;
  }
  int finish_with(int error) noexcept {
    completion_->error = error;
    return finish(error == MPI_SUCCESS ? engine::Status::ok : engine::Status::bad_argument);
  }
  /// Completes the request, if there is one, with `status`.
  int finish(engine::Status status) noexcept {
    if (RequestCompletion* const completion = std::exchange(completion_, nullptr))
      completion->done(*completion, status, operation_.target_layout.size());
    return MPI_SUCCESS;
  }

  engine::RmaOp operation_;
  int notification_;
  OwnedLayout target_;
  OwnedLayout origin_;
  OwnedLayout result_;
  RequestCompletion* completion_ = nullptr;
};

}  // namespace

int queue_operation(Window& window, Target& target, engine::RmaOp const& operation, int notification,
                    MPI_Request* request) {
  auto call = std::make_unique<QueuedOperation>(operation, notification);
  if (request == nullptr) return enqueue(window, target, std::move(call));
  RequestCompletion* const completion = open_request(window.handle, window.context);
  if (completion == nullptr) return MPI_ERR_NO_MEM;
  completion->subject = subject_of(window, target, operation);
  // Read before the operation can complete: its completion object goes back to the pool then.
  MPI_Request const handle = completion->handle;
  call->give_request(completion);
  int const error = enqueue(window, target, std::move(call));
  *request = handle;
  return error;
}

}  // namespace mpixrma::windows
