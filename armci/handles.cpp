#include "armci/handles.hpp"

#include <deque>
#include <map>
#include <mutex>
#include <vector>

namespace armci {

namespace {

using mpix::engine::Engine;
using mpix::engine::Status;

// A handle without anything to wait for; others hold an index into `explicit_pending`.
constexpr int no_pending = -1;

std::mutex tables_lock;
std::deque<Pending> explicit_pending;
std::vector<int> unused_pending;
std::map<int, Pending> implicit_pending;  ///< by process; only of processes with messages
std::deque<PendingOperation> operations;
std::vector<PendingOperation*> unused_operations;

void on_done(mpix::engine::Completion& completion, Status status, std::size_t) noexcept {
  auto& operation = static_cast<PendingOperation&>(completion);
  Pending& pending = *operation.pending;
  if (mpix::engine::failed(status)) pending.status.store(status, std::memory_order_relaxed);
  {
    std::lock_guard const held(tables_lock);
    unused_operations.push_back(&operation);
  }
  pending.count.fetch_sub(1, std::memory_order_release);
}

Pending& pending_of(armci_hdl_t* handle, int process) {
  if (handle == nullptr) return implicit_pending[process];
  if (handle->target == no_pending) {
    if (unused_pending.empty()) {
      unused_pending.push_back(static_cast<int>(explicit_pending.size()));
      explicit_pending.emplace_back();
    }
    handle->target = unused_pending.back();
    unused_pending.pop_back();
  }
  return explicit_pending[static_cast<std::size_t>(handle->target)];
}

PendingOperation& new_operation(armci_hdl_t* handle, int process) {
  std::lock_guard const held(tables_lock);
  if (unused_operations.empty()) unused_operations.push_back(&operations.emplace_back());
  PendingOperation& operation = *unused_operations.back();
  unused_operations.pop_back();
  operation.done = &on_done;
  operation.pending = &pending_of(handle, process);
  operation.pending->count.fetch_add(1, std::memory_order_relaxed);
  return operation;
}

bool is_complete(Pending const& pending) { return pending.count.load(std::memory_order_acquire) == 0; }

void finish(char const* call, Pending& pending) {
  Engine::running()->wait_until([&] { return is_complete(pending); });
  check(call, pending.status.exchange(Status::ok, std::memory_order_relaxed));
}

Pending* find(armci_hdl_t const* handle) {
  if (handle == nullptr || handle->target == no_pending) return nullptr;
  std::lock_guard const held(tables_lock);
  auto const index = static_cast<std::size_t>(handle->target);
  return index < explicit_pending.size() ? &explicit_pending[index] : nullptr;
}

void release(armci_hdl_t* handle) {
  std::lock_guard const held(tables_lock);
  unused_pending.push_back(handle->target);
  handle->target = no_pending;
}

}  // namespace

template <typename Operation>
void issue_nonblocking(char const* call, mpix::Target& target, Operation& operation, armci_hdl_t* handle) {
  PendingOperation& kept = new_operation(handle, target.rank);
  operation.completion = &kept;
  mpix::engine::Issued const issued = mpix::issue(target, operation);
  if (mpix::engine::failed(issued.status) || issued.complete) on_done(kept, issued.status, 0);
  check(call, issued.status);
}
template void issue_nonblocking(char const*, mpix::Target&, mpix::engine::Transfer&, armci_hdl_t*);

void wait_for(char const* call, armci_hdl_t* handle) {
  if (handle == nullptr) return wait_for_all();
  Pending* const pending = find(handle);
  if (pending == nullptr) return;
  finish(call, *pending);
  release(handle);
}

bool test(armci_hdl_t* handle) {
  Pending* const pending = find(handle);
  if (pending == nullptr) return true;
  Engine::running()->progress();
  if (!is_complete(*pending)) return false;
  finish("ARMCI_Test", *pending);
  release(handle);
  return true;
}

void wait_for_process(int process) {
  Pending* pending = nullptr;
  {
    std::lock_guard const held(tables_lock);
    auto const found = implicit_pending.find(process);
    if (found != implicit_pending.end()) pending = &found->second;
  }
  if (pending != nullptr) finish("ARMCI_WaitProc", *pending);
}

void wait_for_all() {
  std::vector<Pending*> all;
  {
    std::lock_guard const held(tables_lock);
    for (auto& [process, pending] : implicit_pending) all.push_back(&pending);
    for (auto& pending : explicit_pending) all.push_back(&pending);
  }
  for (Pending* const pending : all) finish("ARMCI_WaitAll", *pending);
}

}  // namespace armci

using namespace armci;

void ARMCI_INIT_HANDLE(armci_hdl_t* hdl) {
  hdl->target = no_pending;
  hdl->aggregate = 0;
}
// Every handle can hold several operations: an aggregate needs no mark.
void ARMCI_SET_AGGREGATE_HANDLE(armci_hdl_t* handle) { handle->aggregate = 1; }
void ARMCI_UNSET_AGGREGATE_HANDLE(armci_hdl_t* handle) { handle->aggregate = 0; }

int PARMCI_Wait(armci_hdl_t* hdl) {
  return returning([&] {
    wait_for("ARMCI_Wait", hdl);
    return 0;
  });
}
int PARMCI_Test(armci_hdl_t* hdl) {
  return returning([&] { return test(hdl) ? 0 : 1; });
}
int PARMCI_WaitProc(int proc) {
  return returning([&] {
    wait_for_process(proc);
    return 0;
  });
}
int PARMCI_WaitAll(void) {
  return returning([&] {
    wait_for_all();
    return 0;
  });
}

ARMCI_ALIAS(Wait);
ARMCI_ALIAS(Test);
ARMCI_ALIAS(WaitProc);
ARMCI_ALIAS(WaitAll);
