/// Non-blocking operations and what waits for them.
#pragma once

#include <atomic>

#include "armci/state.hpp"

namespace armci {

/// Operations that are waited for together: those of one handle, or the implicit ones to one process.
struct Pending {
  bool in_use = false;  ///< named by a handle
  std::atomic<int> count{0};
  FailedOperation failed;  ///< the first one, if any; belongs to the application once `count` is 0
};

/// One operation that was not complete when it was issued. Gives itself back.
struct PendingOperation : mpixrma::engine::Completion {
  Pending* pending = nullptr;
  FailedOperation named;  ///< what to tell when it fails
};

/// Issues `operation` without waiting and ties it to `handle` (null: implicit). Nothing is kept of an
/// operation that is complete at once.
template <typename Operation>
void issue_nonblocking(char const* call, mpixrma::Target& target, Operation& operation, armci_hdl_t* handle);

/// Whether the operations of `handle` (null: the implicit ones) are complete.
bool test(char const* call, armci_hdl_t* handle);
/// These wait for everything first; then they throw the first Failure. Nothing of it is left afterwards.
void wait_for(char const* call, armci_hdl_t* handle);
void wait_for_process(char const* call, int process);
void wait_for_all(char const* call);

}  // namespace armci
