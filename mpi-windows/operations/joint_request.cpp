#include "mpi-windows/operations/joint_request.hpp"

#include <memory>
#include <new>

namespace mpixrma::windows {

JointRequest::JointRequest(RequestCompletion& told, std::atomic<std::size_t>& pending)
    : request_(told), pending_(pending) {
  pending_.fetch_add(1, std::memory_order_relaxed);
}

JointRequest* JointRequest::open(void* window, std::uint32_t context, std::atomic<std::size_t>& pending,
                                 MPI_Request* request) {
  RequestCompletion* const told = open_request(window, context);
  if (told == nullptr) return nullptr;
  try {
    auto* const made = new JointRequest(*told, pending);
    *request = told->handle;
    return made;
  } catch (std::bad_alloc const&) {
    drop_request(told);
    return nullptr;
  }
}

engine::Completion* JointRequest::add() noexcept try {
  std::lock_guard const held(adding_);
  Part& part = parts_.emplace_back();
  part.whole = this;
  part.done = [](engine::Completion& self, engine::Status status, std::size_t) noexcept {
    static_cast<Part&>(self).whole->end(status);
  };
  missing_.fetch_add(1, std::memory_order_relaxed);
  return &part;
} catch (std::bad_alloc const&) {
  return nullptr;
}

void JointRequest::note(engine::Status status) noexcept {
  engine::Status none = engine::Status::ok;
  first_.compare_exchange_strong(none, status, std::memory_order_relaxed);
}

void JointRequest::end(engine::Status status) noexcept {
  note(status);
  // Acquire-release: the thread that ends the last part sees the results of all others.
  if (missing_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  std::unique_ptr<JointRequest> const owned(this);
  request_.done(request_, first_.load(std::memory_order_relaxed), 0);
  // Release: pairs with the acquire in Window::end_joint_requests(), after which there is no window.
  pending_.fetch_sub(1, std::memory_order_release);
}

}  // namespace mpixrma::windows
