/// Non-blocking operations and the calls that wait for them.
#pragma once

#include <atomic>

#include "armci/state.hpp"

namespace armci {

/// Operations that are waited for together: those of one handle, or the implicit ones to one process.
struct Pending {
  bool in_use = false;  ///< referenced by a handle
  std::atomic<int> count{0};
  FailedOperation failed;  ///< first failure, if any; belongs to the application once `count` is 0
};

/// An operation that was not complete when its call returned. Returns itself to the pool.
struct PendingOperation : mpixrma::engine::Completion {
  Pending* pending = nullptr;
  FailedOperation named;  ///< description of the operation for the error text
};

/// Issues `operation` without waiting and ties it to `handle` (null: implicit). An operation that completes
/// at once leaves no state.
void issue_nonblocking(char const* call, mpixrma::Target& target, mpixrma::engine::RmaOp& operation,
                       armci_hdl_t* handle);

/// Returns whether the operations of `handle` (null: the implicit ones) are complete.
bool test(char const* call, armci_hdl_t* handle);
/// These functions wait for all operations first and then throw the first Failure. No failure is kept
/// afterwards.
void wait_for(char const* call, armci_hdl_t* handle);
void wait_for_process(char const* call, int process);
void wait_for_all(char const* call);

}  // namespace armci
