#include "mpix/request/rma_request.hpp"

#include <deque>
#include <mutex>
#include <vector>

#include "mpix/comm/keyvals.hpp"
#include "mpix/error/error.hpp"
#include "mpix/runtime/process_engine.hpp"
#include "mpix/runtime/runtime.hpp"

namespace mpixrma {

/// A handle is the object's index and, in its upper bits, the number of uses, which makes it nonzero.
class RmaRequestPool {
 public:
  RmaRequest* find(MPIX_Rma_request handle) {
    auto const bits = reinterpret_cast<std::uintptr_t>(handle);
    std::lock_guard const held(lock_);
    std::size_t const index = bits & index_mask;
    if (index >= requests_.size()) return nullptr;
    RmaRequest& request = requests_[index];
    RmaRequest::State const state = request.state();
    bool const exists = state != RmaRequest::State::unused && state != RmaRequest::State::abandoned;
    return request.handle_ == handle && exists ? &request : nullptr;
  }

  RmaRequest& take() {
    std::lock_guard const held(lock_);
    if (unused_.empty()) {
      requests_.emplace_back();
      requests_.back().handle_ = reinterpret_cast<MPIX_Rma_request>(requests_.size() - 1);
      unused_.push_back(&requests_.back());
    }
    RmaRequest& request = *unused_.back();
    unused_.pop_back();
    auto next = reinterpret_cast<std::uintptr_t>(request.handle_) + (index_mask + 1);
    if (next <= index_mask) next += index_mask + 1;  // the number of uses has wrapped
    request.handle_ = reinterpret_cast<MPIX_Rma_request>(next);
    request.stays_ = false;
    request.attributes_ = AttributeSet{};
    request.state_.store(RmaRequest::State::inactive, std::memory_order_relaxed);
    return request;
  }

  void give_back(RmaRequest& request) {
    std::lock_guard const held(lock_);
    request.state_.store(RmaRequest::State::unused, std::memory_order_relaxed);
    unused_.push_back(&request);
  }

 private:
  static constexpr std::uintptr_t index_mask = 0xffffffff;

  std::mutex lock_;
  std::deque<RmaRequest> requests_;
  std::vector<RmaRequest*> unused_;
};

namespace {

RmaRequestPool rma_pool;

}  // namespace

RmaRequest::RmaRequest() {
  done = [](engine::Completion& self, engine::Status status, std::size_t) noexcept {
    static_cast<RmaRequest&>(self).finish(status);
  };
}

RmaRequest* RmaRequest::find(MPIX_Rma_request handle) { return rma_pool.find(handle); }
RmaRequest& RmaRequest::make() { return rma_pool.take(); }

void RmaRequest::start(Communicator& communicator, char const* call, Subject const& subject) noexcept {
  communicator_ = &communicator;
  context_ = communicator.context();
  status_ = engine::Status::ok;
  call_ = call;
  subject_ = subject;
  state_.store(State::active, std::memory_order_relaxed);
}

void RmaRequest::finish(engine::Status status) noexcept {
  status_ = status;
  // Once the state is `complete`, another thread may reuse the object, so it must not be accessed after that.
  State now = State::active;
  if (state_.compare_exchange_strong(now, State::complete, std::memory_order_acq_rel)) return;
  end_unreported();
}

/// Ends a freed request. No call on the request can report its failure, so the next completion call does.
void RmaRequest::end_unreported() noexcept {
  if (engine::failed(status_)) communicator_->keep_failure(context_, late_error_of(status_, subject_));
  rma_pool.give_back(*this);
}

int RmaRequest::end(MPIX_Rma_request* handle) {
  // Acquire in state(): pairs with the release in finish(), for the members written before it.
  if (state() != State::complete) return MPI_SUCCESS;
  Failure const error = failure(status_, subject_);
  // States of communicators are never deallocated; a freed one has another context.
  bool const freed = communicator_->context() != context_;
  Site const site{call_, communicator_->handle()};
  if (stays_) {
    state_.store(State::inactive, std::memory_order_release);
  } else {
    *handle = MPIX_RMA_REQUEST_NULL;
    rma_pool.give_back(*this);
  }
  if (!error) return MPI_SUCCESS;
  // The error handler was freed with the communicator.
  return freed ? make_code(site.call, error) : raise(site, error);
}

void RmaRequest::free() {
  State now = State::active;
  if (state_.compare_exchange_strong(now, State::abandoned, std::memory_order_acq_rel)) return;
  now == State::complete ? end_unreported() : rma_pool.give_back(*this);
}

}  // namespace mpixrma
