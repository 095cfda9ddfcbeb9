/// Requests that are complete when a notification counter has come to a threshold.
#pragma once

#include <cstdint>

#include "mpix/error/error.hpp"
#include "mpix/request/native_request.hpp"
#include "mpix/runtime/process_engine.hpp"

namespace mpixrma {

/// `*request` becomes one. After a failure it is untouched; the caller raises that. A counter that is freed
/// before fails the request through the site's communicator.
inline Failure watch_counter(Site const& site, std::uint64_t const& counter, MPI_Count threshold,
                             MPI_Request* request) {
  if (request == nullptr) return failure(MPI_ERR_REQUEST, "request is a null pointer");
  if (threshold < 0)
    return failure(MPI_ERR_ARG, "threshold %lld is negative", static_cast<long long>(threshold));
  Subject subject{};
  subject.missing = "the counter was freed before it reached the threshold";
  NativeCompletion* const completion = open_native(site, subject);
  if (completion == nullptr) return failure(MPI_ERR_NO_MEM, "no memory for a request");
  *request = completion->handle;
  engine_of_process().watch(&counter, static_cast<std::uint64_t>(threshold), *completion);
  return {};
}

}  // namespace mpixrma
