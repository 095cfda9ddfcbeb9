#include "mpix/request/request.hpp"

#include <mutex>

#include "mpix/error/error.hpp"

namespace mpix {

namespace {

std::mutex pool_lock;
RequestCompletion* pool = nullptr;

void give_back(RequestCompletion* completion) {
  std::lock_guard const held(pool_lock);
  completion->next = pool;
  pool = completion;
}

RequestCompletion* take() {
  std::lock_guard const held(pool_lock);
  if (pool == nullptr) return new RequestCompletion;
  RequestCompletion* const completion = pool;
  pool = completion->next;
  return completion;
}

mpix_host_ops const& host() { return engine::Engine::running()->host(); }

}  // namespace

RequestCompletion* open_request(Communicator& communicator) {
  void* const request = host().request_create(communicator.handle());
  if (request == nullptr) return nullptr;
  RequestCompletion* const completion = take();
  completion->request = request;
  completion->done = [](engine::Completion& self, engine::Status status, std::size_t bytes) noexcept {
    auto& completion_object = static_cast<RequestCompletion&>(self);
    host().request_complete(completion_object.request, code_of(status), bytes);
    give_back(&completion_object);
  };
  return completion;
}

void drop_request(RequestCompletion* completion) {
  auto request = static_cast<MPI_Request>(completion->request);
  host().request_complete(request, MPI_SUCCESS, 0);
  MPI_Request_free(&request);
  give_back(completion);
}

MPI_Request completed_request() { return static_cast<MPI_Request>(host().request_completed()); }

}  // namespace mpix
