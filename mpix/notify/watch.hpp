/// Requests that complete when a notification counter reaches a threshold.
#pragma once

#include <cstdint>

#include "mpix/error/error.hpp"
#include "mpix/request/native_request.hpp"
#include "mpix/runtime/process_engine.hpp"

namespace mpixrma {

/// Ends the wait of a request that the application has freed: its counter may never reach the threshold.
inline void end_freed_watch(std::uint64_t number) {
  engine::Engine* const engine = hosted_engine();
  engine::Completion* const completion = engine != nullptr ? engine->counters.cancel(number) : nullptr;
  if (completion != nullptr) complete_native(static_cast<NativeCompletion*>(completion));
}

/// Creates such a request for the counter with this index; it is complete if the counter is at the threshold
/// or beyond. On failure `*request` is unchanged, and the caller raises the returned error. If the counter is
/// freed first, the request fails through the site's communicator.
inline Failure watch_counter(Site const& site, std::uint64_t const& counter, int index, MPI_Count threshold,
                             MPI_Request* request) {
  if (request == nullptr) return failure(MPI_ERR_REQUEST, "request is a null pointer");
  if (threshold < 0)
    return failure(MPI_ERR_ARG, "threshold %lld is negative", static_cast<long long>(threshold));
  if (__atomic_load_n(&counter, __ATOMIC_ACQUIRE) >= static_cast<std::uint64_t>(threshold)) {
    *request = completed_request();
    return {};
  }
  Subject subject{};
  subject.missing = "the counter was freed before it reached the threshold";
  NativeCompletion* const completion = start_native(site, subject);
  if (completion == nullptr) return failure(MPI_ERR_NO_MEM, "cannot allocate a request");
  *request = completion->handle;
  mpix_host_request_t* const made = completion->request;  // `completion` may be reused once it is watched
  std::uint64_t const number =
      engine_of_process().counters.watch(&counter, static_cast<std::uint64_t>(threshold), *completion, index);
  host().request_when_freed(made, &end_freed_watch, number);
  return {};
}

}  // namespace mpixrma
