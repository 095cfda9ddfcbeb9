/// Native MPI requests for operations that are not complete when the call returns.
#pragma once

#include <mpi.h>

#include "engine/op/operation.hpp"
#include "hosts/common/hosted.h"
#include "mpix/comm/communicator.hpp"
#include "mpix/error/error.hpp"
#include "mpix/request/native_attributes.hpp"

namespace mpixrma {

/// Completes a native request when the engine completes the operation. From a pool; gives itself back.
struct NativeCompletion : engine::Completion {
  /// The request belongs to no operation: a failure is nobody's once it is freed.
  static constexpr std::uint32_t no_communicator = 0;

  mpix_host_request_t* request = nullptr;
  MPI_Request handle = MPI_REQUEST_NULL;    ///< of `request`
  std::uint32_t context = no_communicator;  ///< to which a failure goes that nobody waits for
  char const* call = nullptr;               ///< with `subject`, what its error says
  Subject subject;
  engine::Status status = engine::Status::ok;
  NativeCompletion* next = nullptr;
};

/// A new active native request for an operation of `site`, and what completes it; nullptr without memory.
NativeCompletion* open_native(Site const& site, Subject const& subject);
/// The same with an inactive object whose handle is `handle`, which becomes active.
NativeCompletion* open_native(Site const& site, Subject const& subject, NativeObject const& object,
                              MPI_Request handle);

/// Takes back a request of open_native whose operation was refused.
void drop_native(NativeCompletion* completion);
/// Completes a request of open_native whose operation is complete when its call returns.
void finish_native(NativeCompletion* completion);

/// The handle that is complete from the start.
MPI_Request completed_request();

}  // namespace mpixrma
