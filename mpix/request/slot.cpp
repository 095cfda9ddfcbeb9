#include "mpix/request/slot.hpp"

#include "mpix/request/native_attributes.hpp"
#include "mpix/request/native_request.hpp"
#include "mpix/request/rma_request.hpp"

namespace mpixrma {

int RequestSlot::read_argument(Site const& site, MPIX_RMA_Attributes& attributes) {
  AttributeSet const* set = nullptr;
  if (native_ != nullptr && use_ == RequestArgument::inout) {
    // The variable may be uninitialised: its value is only compared with existing objects.
    native_object_ = find_native_object(*native_);
    if (native_object_ != nullptr && is_active(*native_object_))
      return raise(site, MPI_ERR_REQUEST, "request is an object that is in use");
    if (native_object_ != nullptr) set = &native_object_->attributes;
  } else if (rma_request_ != nullptr && *rma_request_ != MPIX_RMA_REQUEST_NULL) {
    object_ = RmaRequest::find(*rma_request_);
    if (object_ == nullptr)
      return raise(site, MPI_ERR_REQUEST, "request %p does not exist or has been freed",
                   static_cast<void*>(*rma_request_));
    if (object_->state() != RmaRequest::State::inactive)
      return raise(site, MPI_ERR_REQUEST, "request is an object that is in use");
    set = &object_->attributes();
  }
  if (set != nullptr) join(attributes, set->attributes());
  return MPI_SUCCESS;
}

engine::Completion* RequestSlot::start(Site const& site, Subject const& subject, Communicator& communicator) {
  if (rma_request_ != nullptr) {
    if (object_ == nullptr) object_ = &RmaRequest::make();
    object_->start(communicator, site.call, subject);
    return object_;
  }
  completion_ = native_object_ != nullptr ? start_native(site, subject, *native_object_, *native_)
                                          : start_native(site, subject);
  // Read before the operation can complete, because its completion object then returns to the pool.
  if (completion_ != nullptr) {
    handle_ = completion_->handle;
    completion_->communicator = &communicator;
    completion_->context = communicator.context();
  }
  return completion_;
}

void RequestSlot::store_handle() {
  if (rma_request_ != nullptr) {
    *rma_request_ = object_->handle();
  } else {
    *native_ = handle_;
  }
}

void RequestSlot::store_completed() {
  if (rma_request_ != nullptr) {
    object_->finish(engine::Status::ok);
  } else {
    complete_native(completion_);
  }
  store_handle();
}

void RequestSlot::cancel() {
  if (rma_request_ == nullptr) {
    if (native_object_ != nullptr) {
      complete_native(completion_);
      MPI_Wait(native_, MPI_STATUS_IGNORE);  // makes it inactive again
    } else {
      cancel_native(completion_);
    }
    return;
  }
  object_->finish(engine::Status::ok);
  MPIX_Rma_request unused = object_->handle();
  (void)object_->end(&unused);
}

void RequestSlot::complete(Site const& site, Communicator& communicator) {
  if (!present()) return;
  if (native_ != nullptr && native_object_ == nullptr) {
    *native_ = completed_request();
    return;
  }
  if (start(site, {}, communicator) != nullptr) store_completed();
}

}  // namespace mpixrma
