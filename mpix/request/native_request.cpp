#include "mpix/request/native_request.hpp"

#include <mutex>

#include "mpix/error/error.hpp"

namespace mpix {

namespace {

std::mutex pool_lock;
NativeCompletion* pool = nullptr;

void give_back(NativeCompletion* completion) {
  std::lock_guard const held(pool_lock);
  completion->next = pool;
  pool = completion;
}

NativeCompletion* take() {
  std::lock_guard const held(pool_lock);
  if (pool == nullptr) return new NativeCompletion;
  NativeCompletion* const completion = pool;
  pool = completion->next;
  return completion;
}

mpix_host_ops const& host() { return engine::Engine::running()->host(); }

NativeCompletion* completion_of(void* request) {
  NativeCompletion* const completion = take();
  completion->request = request;
  completion->done = [](engine::Completion& self, engine::Status status, std::size_t bytes) noexcept {
    auto& native = static_cast<NativeCompletion&>(self);
    host().request_complete(native.request, code_of(status), bytes);
    give_back(&native);
  };
  return completion;
}

}  // namespace

NativeCompletion* open_native(Communicator& communicator) {
  void* const request = host().request_create(communicator.handle());
  return request == nullptr ? nullptr : completion_of(request);
}

NativeCompletion* open_native(Communicator& communicator, MPI_Request persistent) {
  host().request_start(persistent, communicator.handle());
  return completion_of(persistent);
}

void drop_native(NativeCompletion* completion) {
  auto request = static_cast<MPI_Request>(completion->request);
  finish_native(completion, MPI_SUCCESS);
  MPI_Request_free(&request);
}

void finish_native(NativeCompletion* completion, int code) {
  host().request_finish(completion->request, code, 0);
  give_back(completion);
}

MPI_Request completed_request() { return static_cast<MPI_Request>(host().request_completed()); }

}  // namespace mpix
