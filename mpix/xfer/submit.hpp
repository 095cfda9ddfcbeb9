/// The last step that all operations share: wait, return a request, or leave it to MPIX_RMA_Complete to wait.
#pragma once

#include "include/mpix_rma.h"
#include "mpix/error/error.hpp"
#include "mpix/request/slot.hpp"
#include "mpix/xfer/call.hpp"
#include "mpix/xfer/transfer.hpp"

namespace mpixrma {

/// Carries the operation out by load and store, without the engine. Returns false if nothing was done.
inline bool submit_direct(Target& target, engine::RmaOp const& operation) {
  // An ordered get may have to wait for an earlier put of this process to itself.
  if (operation.is_get() && has(operation.flags, OpFlags::ordered)) return false;
  // An update with element_atomic may have to wait for stripes that are held across messages: left to the
  // engine.
  if (operation.is_update() && has(operation.flags, OpFlags::element_atomic)) return false;
  return try_direct(target, operation);
}

/// Returns the result of an issue or a wait with this status.
inline int result_of_issue(Site const& site, engine::Status status, Subject const& subject,
                           engine::RmaOp const& operation) {
  return status == engine::Status::bad_origin ? raise_origin(site, operation)
                                              : result_of(site, status, subject);
}

/// Issues a checked operation of `bytes` at the target. `set` are the attributes that apply. On failure calls
/// the error handler. Returns an MPI error code.
inline int submit(Site const& site, Communicator& communicator, Target& target, engine::RmaOp& operation,
                  std::size_t bytes, std::uint64_t set, RequestSlot& request) {
  if (submit_direct(target, operation)) {
    finish_direct(set);
    request.complete(site, communicator);
    return MPI_SUCCESS;
  }
  Subject const subject{target.rank, operation.target, bytes, target.peer->process(),
                        operation.target_layout.is_contiguous()};
  if ((set & MPIX_RMA_ATTR_BLOCKING) != 0) {
    engine::Status const status = issue_and_wait(target, operation);
    if (!engine::failed(status)) request.complete(site, communicator);
    return result_of_issue(site, status, subject, operation);
  }
  if (!request.present()) return result_of_issue(site, issue(target, operation).status, subject, operation);
  operation.completion = request.start(site, subject, communicator);
  if (operation.completion == nullptr) return raise(site, MPI_ERR_NO_MEM, "no memory for a request");
  engine::Issued issued;
  try {
    issued = issue(target, operation);
  } catch (...) {
    request.cancel();
    throw;
  }
  if (engine::failed(issued.status)) {
    request.cancel();
    return result_of_issue(site, issued.status, subject, operation);
  }
  if (!issued.complete) {
    request.store_handle();
    return MPI_SUCCESS;
  }
  finish_direct(set);
  request.store_completed();
  return MPI_SUCCESS;
}

}  // namespace mpixrma
