#include "windows/request.hpp"

#include "datatype/handle.hpp"
#include "hosting/completion_pool.hpp"
#include "hosting/hosted.hpp"
#include "windows/error.hpp"

namespace mpix::windows {

namespace {

CompletionPool<RequestCompletion> pool;

/// Whether the application has freed the request of a failed operation: the failure is kept then.
bool keep_if_freed(RequestCompletion const& completion) noexcept {
  if (mpix_host_operations()->request_is_freed(completion.request) == 0) return false;
  Subject const& subject = completion.subject;
  engine::TargetMemory const memory{static_cast<engine::RemoteAddress>(subject.disp), subject.bytes, true,
                                    engine::ExposureId::none};
  hosted_engine()->keep_error(completion.context, {completion.status, subject.kind, memory, subject.rank});
  return true;
}

int code_of(RequestCompletion const& failed) noexcept {
  int const error_class = class_of(failed.status);
  try {
    return code_with(error_class, "%s failed: %s", describe(failed.subject).c_str(),
                     engine::to_string(failed.status));
  } catch (...) {  // no memory for a text
    return error_class;
  }
}

/// Called by an application thread, for a failed operation.
int error_of(void* context) noexcept {
  auto* const completion = static_cast<RequestCompletion*>(context);
  int const code = keep_if_freed(*completion) ? class_of(completion->status) : code_of(*completion);
  pool.give_back(completion);
  return code;
}

void tell(engine::Completion& self, engine::Status status, std::size_t bytes) noexcept {
  auto& completion = static_cast<RequestCompletion&>(self);
  completion.status = status;
  bool const failed = engine::failed(status) && !keep_if_freed(completion);
  mpix_host_operations()->request_complete(completion.request, bytes, failed ? &error_of : nullptr,
                                           &completion);
  if (!failed) pool.give_back(&completion);
}

}  // namespace

RequestCompletion* open_request(void* window, std::uint32_t context) {
  mpix_handle_t handle = 0;
  mpix_host_request_t* const request = mpix_host_operations()->window_request_create(window, &handle);
  if (request == nullptr) return nullptr;
  RequestCompletion* const completion = pool.take();
  completion->request = request;
  completion->context = context;
  completion->handle = handle_of<MPI_Request>(handle);
  completion->done = &tell;
  completion->subject = {};
  return completion;
}

MPI_Request completed_request() {
  return handle_of<MPI_Request>(mpix_host_operations()->request_completed());
}

MPI_Request finish_request(RequestCompletion* completion) {
  MPI_Request const handle = completion->handle;
  mpix_host_operations()->request_finish(completion->request);
  pool.give_back(completion);
  return handle;
}

void drop_request(RequestCompletion* completion) {
  MPI_Request request = finish_request(completion);
  PMPI_Request_free(&request);
}

}  // namespace mpix::windows
