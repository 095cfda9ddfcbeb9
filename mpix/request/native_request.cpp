#include "mpix/request/native_request.hpp"

#include "datatype/handle.hpp"
#include "hosts/common/completion_pool.hpp"
#include "mpix/runtime/process_engine.hpp"

namespace mpixrma {

namespace {

CompletionPool<NativeCompletion> native_pool;

Subject subject_of(NativeCompletion const& failed) noexcept {
  Subject subject = failed.subject;
  if (failed.first.target.rank >= 0) subject.rank = failed.first.target.rank;
  return subject;
}

int code_of(NativeCompletion const& failed) noexcept {
  auto const& [target, error] = failed.first;
  try {
    return make_code(failed.call, engine::failed(error.status)
                                      ? late_failure({target.rank, target.process, error})
                                      : failure(failed.status, subject_of(failed)));
  } catch (...) {  // no memory for the text
    return class_of(failed.status);
  }
}

engine::LateError late_error_of(NativeCompletion const& failed) noexcept {
  engine::LateError error = failed.first.error;
  if (!engine::failed(error.status)) return late_error_of(failed.status, subject_of(failed));
  if (error.rank == engine::LateError::of_peer) error.rank = failed.first.target.rank;
  return error;
}

/// Returns the completion object to its pool. If MPI has not reported the failure, keeps it for the next
/// completion call on the communicator, if the request has a communicator.
void end_failed(void* context, int reported) noexcept {
  auto* const native = static_cast<NativeCompletion*>(context);
  if (reported == 0 && native->context != NativeCompletion::no_communicator)
    native->communicator->keep_failure(native->context, late_error_of(*native));
  native_pool.give_back(native);
}

constexpr mpix_host_failure failure_of_request{
    [](void* context) noexcept { return code_of(*static_cast<NativeCompletion*>(context)); }, &end_failed};

NativeCompletion* completion_of(mpix_host_request_t* request, MPI_Request handle, Site const& site,
                                Subject const& subject) {
  NativeCompletion* const completion = native_pool.take();
  completion->request = request;
  completion->handle = handle;
  completion->context = NativeCompletion::no_communicator;
  completion->call = site.call;
  completion->subject = subject;
  // With these values, the rest of `first` is not read.
  completion->first.target.rank = engine::LateError::unknown;
  completion->first.error.status = engine::Status::ok;
  completion->done = [](engine::Completion& self, engine::Status status, std::size_t /*bytes*/) noexcept {
    auto& native = static_cast<NativeCompletion&>(self);
    native.status = status;
    bool const failed = engine::failed(status);
    host().request_complete(native.request, failed ? &failure_of_request : nullptr, &native);
    if (!failed) native_pool.give_back(&native);
  };
  return completion;
}

}  // namespace

NativeCompletion* start_native(Site const& site, Subject const& subject) {
  mpix_handle_t handle = 0;
  mpix_host_request_t* const request = host().request_create(word_of(site.comm), &handle);
  return request == nullptr ? nullptr
                            : completion_of(request, handle_from<MPI_Request>(handle), site, subject);
}

NativeCompletion* start_native(Site const& site, Subject const& subject, NativeObject const& object,
                               MPI_Request handle) {
  host().request_start(object.request, word_of(site.comm));
  return completion_of(object.request, handle, site, subject);
}

void cancel_native(NativeCompletion* completion) {
  MPI_Request handle = completion->handle;
  complete_native(completion);
  MPI_Request_free(&handle);
}

void complete_native(NativeCompletion* completion) {
  host().request_finish(completion->request);
  native_pool.give_back(completion);
}

MPI_Request completed_request() { return handle_from<MPI_Request>(host().request_completed()); }

}  // namespace mpixrma
