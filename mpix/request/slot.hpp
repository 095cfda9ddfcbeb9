/// The request argument of a call, of either type or none.
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

class RequestSlot {
 public:
  RequestSlot() = default;
  explicit RequestSlot(MPI_Request* request) noexcept : native_(request) {}
  explicit RequestSlot(MPIX_Rma_request* request) noexcept : own_(request) {}

  bool present() const noexcept { return native_ != nullptr || own_ != nullptr; }

  /// Finds out what stands in the caller's variable, and joins its attributes to `attributes`. Raises
  /// MPI_ERR_REQUEST for an object that is in use or none. MPI error code.
  int look(Site const& site, MPIX_RMA_Attributes& attributes);

  /// What completes the request; nullptr without memory. Then one of the three below.
  engine::Completion* open(Site const& site, Subject const& subject, Communicator& communicator);
  /// The operation is complete already: the caller's variable becomes a request that is.
  void finish();
  /// The operation is on its way: the caller's variable becomes the request.
  void keep();
  /// The operation was refused: the variable stays as it is.
  void drop();

  /// For an operation that is complete already.
  void complete(Site const& site, Communicator& communicator);

 private:
  MPI_Request* native_ = nullptr;
  MPIX_Rma_request* own_ = nullptr;
  NativeObject const* native_object_ = nullptr;  ///< that stands in the variable
  NativeCompletion* completion_ = nullptr;
  MPI_Request handle_ = MPI_REQUEST_NULL;
  RmaRequest* object_ = nullptr;
};

}  // namespace mpixrma
