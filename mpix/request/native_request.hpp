/// Native MPI requests for operations that are not complete when the call returns.
#pragma once

#include <mpi.h>

#include "engine/op/aggregate_completion.hpp"
#include "engine/op/operation.hpp"
#include "hosts/common/hosted.h"
#include "mpix/comm/communicator.hpp"
#include "mpix/error/error.hpp"
#include "mpix/request/native_attributes.hpp"

namespace mpixrma {

/// Completes a native request when the engine completes the operation, and returns to its pool: on success at
/// once, after a failure when the request ends.
struct NativeCompletion : engine::Completion {
  /// The request belongs to no communicator: its failure is dropped if the request is freed.
  static constexpr std::uint32_t no_communicator = 0;

  mpix_host_request_t* request = nullptr;
  MPI_Request handle = MPI_REQUEST_NULL;    ///< handle of `request`
  Communicator* communicator = nullptr;     ///< keeps a failure if the request is freed; never deallocated
  std::uint32_t context = no_communicator;  ///< the communicator's
  char const* call = nullptr;               ///< beginning of the error text, followed by `subject`
  Subject subject;
  engine::AggregateCompletion::FirstFailure first;  ///< of a request for the operations of several targets
  engine::Status status = engine::Status::ok;
  NativeCompletion* next = nullptr;
};

/// Creates an active native request for an operation of `site`, and returns its completion; nullptr if out
/// of memory.
NativeCompletion* start_native(Site const& site, Subject const& subject);
/// As the other start_native(), for an inactive object with the handle `handle`, which becomes active.
NativeCompletion* start_native(Site const& site, Subject const& subject, NativeObject const& object,
                               MPI_Request handle);

/// Cancels a request of start_native whose operation was rejected.
void cancel_native(NativeCompletion* completion);
/// Completes a request of start_native whose operation is complete when its call returns.
void complete_native(NativeCompletion* completion);

/// Returns the handle of a request that is already complete.
MPI_Request completed_request();

}  // namespace mpixrma
