#include "mpix/request/slot.hpp"

#include "mpix/request/native_attributes.hpp"
#include "mpix/request/native_request.hpp"
#include "mpix/request/rma_request.hpp"

namespace mpix {

int RequestSlot::look(MPIX_RMA_Attributes& attributes) {
  AttributeSet const* set = nullptr;
  if (native_ != nullptr) {
    // The variable need not be initialised: its value is only compared with objects that exist.
    set = find_native_object(*native_);
    if (set != nullptr && is_active(*native_)) return MPI_ERR_REQUEST;
  } else if (own_ != nullptr && *own_ != MPIX_RMA_REQUEST_NULL) {
    object_ = RmaRequest::find(*own_);
    if (object_ == nullptr || object_->state() != RmaRequest::State::inactive) return MPI_ERR_REQUEST;
    set = &object_->attributes();
  }
  reused_ = set != nullptr;
  if (set != nullptr) join(attributes, set->attributes());
  return MPI_SUCCESS;
}

engine::Completion* RequestSlot::open(Communicator& communicator) {
  if (own_ != nullptr) {
    if (object_ == nullptr) object_ = &RmaRequest::make();
    object_->start(communicator);
    return object_;
  }
  completion_ = reused_ ? open_native(communicator, *native_) : open_native(communicator);
  // Read before the operation can complete: its completion object goes back to the pool then.
  if (completion_ != nullptr) handle_ = static_cast<MPI_Request>(completion_->request);
  return completion_;
}

void RequestSlot::keep() {
  if (own_ != nullptr) {
    *own_ = object_->handle();
  } else {
    *native_ = handle_;
  }
}

void RequestSlot::finish() {
  if (own_ != nullptr) {
    object_->finish(MPI_SUCCESS);
  } else {
    finish_native(completion_, MPI_SUCCESS);
  }
  keep();
}

void RequestSlot::drop() {
  if (own_ == nullptr) {
    if (reused_) {
      finish_native(completion_, MPI_SUCCESS);
      MPI_Wait(native_, MPI_STATUS_IGNORE);  // inactive again
    } else {
      drop_native(completion_);
    }
    return;
  }
  object_->finish(MPI_SUCCESS);
  MPIX_Rma_request unused = object_->handle();
  (void)object_->settle(&unused);
}

void RequestSlot::complete(Communicator& communicator) {
  if (!present()) return;
  if (native_ != nullptr && !reused_) {
    *native_ = completed_request();
    return;
  }
  if (open(communicator) != nullptr) finish();
}

}  // namespace mpix
