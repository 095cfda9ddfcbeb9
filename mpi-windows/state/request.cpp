#include "mpi-windows/state/request.hpp"

#include "datatype/handle.hpp"
#include "hosts/common/completion_pool.hpp"
#include "hosts/common/hosted.hpp"
#include "mpi-windows/state/error.hpp"
#include "mpi-windows/state/failure.hpp"
#include "mpi-windows/state/unreported_failures.hpp"
#include "mpi-windows/state/window.hpp"

namespace mpixrma::windows {

namespace {

CompletionPool<RequestCompletion> pool;

void keep(RequestCompletion const& failed) noexcept {
  ReportedTarget const& subject = failed.subject;
  engine::TargetMemory const memory{static_cast<engine::RemoteAddress>(subject.disp), subject.bytes, true,
                                    engine::ExposureId::none};
  keep_unreported(failed.context, {failed.status, subject.kind, memory, subject.rank}, failed.error);
}

int code_of(RequestCompletion const& failed) noexcept {
  if (failed.error != MPI_SUCCESS) return failed.error;
  int const error_class = class_of(failed.status);
  try {
    return code_with(error_class, "%s failed: %s", describe(failed.subject).c_str(),
                     engine::to_string(failed.status));
  } catch (...) {  // no memory for a text
    return error_class;
  }
}

void end_failed(void* context, int asked) noexcept {
  auto* const completion = static_cast<RequestCompletion*>(context);
  if (asked == 0) keep(*completion);
  pool.give_back(completion);
}

constexpr mpix_host_failure failure_of_request{
    [](void* context) noexcept { return code_of(*static_cast<RequestCompletion*>(context)); }, &end_failed};

void complete_request(engine::Completion& self, engine::Status status, std::size_t /*bytes*/) noexcept {
  auto& completion = static_cast<RequestCompletion&>(self);
  completion.status = status;
  bool const failed = engine::failed(status);
  mpix_host_operations()->request_complete(completion.request, failed ? &failure_of_request : nullptr,
                                           &completion);
  if (!failed) pool.give_back(&completion);
}

/// Describes the operation now, because the window may be freed before the application asks for the failure.
void complete_aggregate_request(engine::Completion& self, engine::Status status, std::size_t bytes) noexcept {
  auto& completion = static_cast<RequestCompletion&>(self);
  auto const& [recipient, error] = completion.first;
  completion.error = recipient.error;
  completion.subject.rank = recipient.rank;
  if (engine::failed(error.status) && recipient.object != nullptr)
    completion.subject = subject_of(*completion.window, *static_cast<Target const*>(recipient.object), error);
  complete_request(self, status, bytes);
}

}  // namespace

RequestCompletion* open_request(void* window, std::uint32_t context) {
  RequestCompletion* const completion = pool.take();
  mpix_handle_t handle = 0;
  completion->request = mpix_host_operations()->window_request_create(window, &handle);
  if (completion->request == nullptr) {
    pool.give_back(completion);
    return nullptr;
  }
  completion->context = context;
  completion->handle = handle_from<MPI_Request>(handle);
  completion->done = &complete_request;
  completion->error = MPI_SUCCESS;
  completion->subject = {};
  return completion;
}

MPI_Request completed_request() {
  return handle_from<MPI_Request>(mpix_host_operations()->request_completed());
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

engine::AggregateCompletion* open_aggregate_request(Window& window, MPI_Request* request) {
  RequestCompletion* const completion = open_request(window.handle, window.context);
  if (completion == nullptr) return nullptr;
  completion->done = &complete_aggregate_request;
  completion->window = &window;
  completion->first = {};
  engine::AggregateCompletion* const aggregate =
      engine::AggregateCompletion::open(*completion, &window.aggregate_requests, &completion->first);
  aggregate != nullptr ? void(*request = completion->handle) : drop_request(completion);
  return aggregate;
}

}  // namespace mpixrma::windows
