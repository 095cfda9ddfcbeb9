/// The request argument of a call: an MPI_Request, an MPIX_Rma_request or none.
#pragma once

#include <mpi.h>

#include "engine/op/operation.hpp"
#include "include/mpix_rma.h"
#include "mpix/comm/communicator.hpp"
#include "mpix/error/error.hpp"

namespace mpixrma {

struct NativeCompletion;
struct NativeObject;
class RmaRequest;

/// The meaning of a native request argument.
enum class RequestArgument {
  out,   ///< receives a request; its value does not matter
  inout  ///< may hold an object of MPIX_Req_set_attr, whose attributes apply
};

class RequestSlot {
 public:
  RequestSlot() = default;
  RequestSlot(MPI_Request* request, RequestArgument use) noexcept : native_(request), use_(use) {}
  explicit RequestSlot(MPIX_Rma_request* request) noexcept : rma_request_(request) {}

  bool present() const noexcept { return native_ != nullptr || rma_request_ != nullptr; }

  /// Examines the caller's variable, and merges the attributes of the object in it into `attributes`. Raises
  /// MPI_ERR_REQUEST if that object is in use or the value is invalid. Returns an MPI error code.
  int read_argument(Site const& site, MPIX_RMA_Attributes& attributes);

  /// Returns the completion object of the request; nullptr if out of memory. Exactly one of the next three
  /// calls must follow.
  engine::Completion* start(Site const& site, Subject const& subject, Communicator& communicator);
  /// The operation is complete already: stores a complete request in the caller's variable.
  void store_completed();
  /// The operation is in progress: stores the request in the caller's variable.
  void store_handle();
  /// The operation was rejected: leaves the caller's variable unchanged.
  void cancel();

  /// Creates a complete request, for an operation that is complete already.
  void complete(Site const& site, Communicator& communicator);

 private:
  MPI_Request* native_ = nullptr;
  RequestArgument use_ = RequestArgument::out;
  MPIX_Rma_request* rma_request_ = nullptr;
  NativeObject const* native_object_ = nullptr;  ///< the object in the caller's variable, if any
  NativeCompletion* completion_ = nullptr;
  MPI_Request handle_ = MPI_REQUEST_NULL;
  RmaRequest* object_ = nullptr;
};

}  // namespace mpixrma
