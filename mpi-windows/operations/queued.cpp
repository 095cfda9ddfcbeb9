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
    bool const is_plain = notification_ == no_notification && target.memory_owner != nullptr;
    if (completion_ == nullptr || !is_plain) return issue_and_wait(window, target);
    if (try_load_store(window, target, operation_)) return finish(engine::Status::ok);
    operation_.completion = completion_;
    engine::Issued const issued = issue_to_engine(window, target, operation_);
    return issued.complete ? finish(issued.status) : MPI_SUCCESS;
  }
  /// Issues the operation while the target is still queued. An operation with a request is complete on
  /// return.
  int issue_and_wait(Window& window, Target& target) {
    int error = issue_with_notification(window, target, operation_, notification_, nullptr);
    if (error == MPI_ERR_ARG && notification_ != no_notification)
      error = missing_counter(target, notification_);
    if (completion_ == nullptr) return error;
    if (error == MPI_SUCCESS) error = complete_target(window, target);
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
  *request = completion->handle;
  call->give_request(completion);
  return enqueue(window, target, std::move(call));
}

}  // namespace mpixrma::windows
