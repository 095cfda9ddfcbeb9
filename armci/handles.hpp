/// Non-blocking operations and what waits for them.
#pragma once

#include <atomic>

#include "armci/state.hpp"

namespace armci {

/// Operations that are waited for together: those of one handle, or the implicit ones to one process.
struct Pending {
  std::atomic<int> count{0};
  std::atomic<mpix::engine::Status> status{mpix::engine::Status::ok};
};

/// One operation that was not complete when it was issued. Gives itself back.
struct PendingOperation : mpix::engine::Completion {
  Pending* pending = nullptr;
};

/// Issues `operation` without waiting and ties it to `handle` (null: implicit). Nothing is kept of an
/// operation that is complete at once.
template <typename Operation>
void issue_nonblocking(char const* call, mpix::Target& target, Operation& operation, armci_hdl_t* handle);

void wait_for(char const* call, armci_hdl_t* handle);
bool test(armci_hdl_t* handle);
void wait_for_process(int process);
void wait_for_all();

}  // namespace armci
