/// Non-blocking operations and the calls that wait for them.
#pragma once

#include <atomic>

#include "armci/state.hpp"

namespace armci {

/// Operations that are waited for together: those of one handle, or the implicit ones to one process.
struct OperationSet {
  int handle = 0;   ///< number in the handle that refers to it; 0 if there is none
  int waiters = 0;  ///< threads that test or wait for them by a handle, or for all handles
  std::atomic<int> count{0};
  OperationDescription failed;  ///< first failure, if any; taken by a wait once `count` is 0
};

/// An operation that was not complete when its call returned. Returns itself to the pool.
struct PendingOperation : mpixrma::engine::Completion {
  OperationSet* pending = nullptr;
  OperationDescription description;  ///< of the operation, for the error text
};

/// Returns the part of a handle that the library uses: the first int of an armci_hdl_t, or the whole of a
/// handle as in the text of ARMCI 1.1, which is an int.
inline int* handle_of(void* handle) noexcept { return static_cast<int*>(handle); }

/// Issues `operation` without waiting and ties it to `handle` (null: implicit). An operation that completes
/// at once is not pending.
void issue_nonblocking(char const* call, mpixrma::Target& target, mpixrma::engine::RmaOp& operation,
                       int* handle);

/// Returns whether the operations of `handle` (null: the implicit ones) are complete; if so, throws the first
/// Failure, if any.
bool test(char const* call, int* handle);
/// The three functions below wait for all operations first and then throw the first Failure, if any. No
/// failure is kept afterwards.
void wait_for(char const* call, int* handle);
void wait_for_process(char const* call, int process);
void wait_for_all(char const* call);

}  // namespace armci
