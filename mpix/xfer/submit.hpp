/// The end that xfer and rmw share: blocking, with a request, or left to Complete.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "include/mpix_rma.h"
#include "mpix/error/error.hpp"
#include "mpix/request/request.hpp"
#include "mpix/xfer/transfer.hpp"

namespace mpix {

template <typename Operation>
int submit(Communicator& communicator, Target& target, Operation& operation, std::uint64_t set,
           MPI_Request* request) {
  MPI_Comm const comm = communicator.handle();
  if constexpr (std::is_same_v<Operation, engine::Transfer>) {
    if (try_direct(target, operation)) {
      if ((set & MPIX_RMA_ATTR_REMOTE_COMPLETION) != 0) std::atomic_thread_fence(std::memory_order_seq_cst);
      if (request != nullptr) *request = completed_request();
      return MPI_SUCCESS;
    }
  }
  if ((set & MPIX_RMA_ATTR_BLOCKING) != 0) {
    engine::Status const status = issue_and_wait(target, operation);
    if (engine::failed(status)) return raise(comm, code_of(status));
    if (request != nullptr) *request = completed_request();
    return MPI_SUCCESS;
  }
  RequestCompletion* completion = nullptr;
  if (request != nullptr) {
    completion = open_request(communicator);
    if (completion == nullptr) return raise(comm, MPI_ERR_NO_MEM);
    operation.completion = completion;
  }
  // Read before the operation can complete: its completion object goes back to the pool then.
  void* const handle = completion != nullptr ? completion->request : nullptr;
  engine::Issued const issued = issue(target, operation);
  if (completion == nullptr) return result_of(comm, issued.status);
  if (engine::failed(issued.status)) {
    drop_request(completion);
    return raise(comm, code_of(issued.status));
  }
  if (issued.complete) {
    drop_request(completion);
    *request = completed_request();
  } else {
    *request = static_cast<MPI_Request>(handle);
  }
  return MPI_SUCCESS;
}

}  // namespace mpix
