#include "armci/handles.hpp"
#include "mpix/runtime/process_engine.hpp"

#include <algorithm>
#include <atomic>
#include <climits>
#include <deque>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace armci {

namespace {

using mpixrma::engine::Engine;
using mpixrma::engine::Status;

// A handle without pending operations, including a zeroed handle. The others are positive.
constexpr int no_pending = 0;

std::mutex tables_lock;
std::map<int, OperationSet*> pending_by_handle;
int last_handle = no_pending;
std::deque<OperationSet> explicit_pending;
std::vector<OperationSet*> unused_pending;
std::map<int, OperationSet> implicit_pending;  ///< by process; an entry remains after its use
std::deque<PendingOperation> operations;
std::vector<PendingOperation*> unused_operations;

void on_done(mpixrma::engine::Completion& completion, Status status, std::size_t) noexcept {
  auto& operation = static_cast<PendingOperation&>(completion);
  OperationSet& pending = *operation.pending;
  {
    std::lock_guard const held(tables_lock);
    if (mpixrma::engine::failed(status) && !mpixrma::engine::failed(pending.failed.status)) {
      pending.failed = operation.description;
      pending.failed.status = status;
    }
    unused_operations.push_back(&operation);
  }
  pending.count.fetch_sub(1, std::memory_order_release);
}

/// Returns the operations that a handle refers to, or nullptr if the handle is invalid or empty.
OperationSet* find(int handle) {
  auto const found = pending_by_handle.find(handle);
  return found != pending_by_handle.end() ? found->second : nullptr;
}

/// Returns an unused number. A number comes again only after all others: until then, a copy of a handle whose
/// operations are complete refers to nothing.
int new_number() {
  do {
    last_handle = last_handle == INT_MAX ? 1 : last_handle + 1;
  } while (pending_by_handle.contains(last_handle));
  return last_handle;
}

bool is_complete(OperationSet const& pending) { return pending.count.load(std::memory_order_acquire) == 0; }

OperationSet& pending_of(int* handle, int process) {
  if (handle == nullptr) return implicit_pending[process];
  if (OperationSet* const known = find(*handle)) return *known;
  if (unused_pending.empty()) unused_pending.push_back(&explicit_pending.emplace_back());
  OperationSet& pending = *unused_pending.back();
  int const number = new_number();
  pending_by_handle[number] = &pending;
  unused_pending.pop_back();
  pending.handle = *handle = number;
  return pending;
}

/// No handle refers to `pending` afterwards.
void retire(OperationSet& pending) {
  pending_by_handle.erase(pending.handle);
  pending.handle = no_pending;
}

/// Whether another thread has issued operations that nobody has waited for, or whose failure is not reported.
bool has_further(OperationSet const& pending) {
  return !is_complete(pending) || mpixrma::engine::failed(pending.failed.status);
}

/// Ends the use of `pending` by a thread that has waited.
void release(OperationSet& pending) {
  if (--pending.waiters == 0 && pending.handle == no_pending) unused_pending.push_back(&pending);
}

PendingOperation& new_operation(int* handle, int process) {
  std::lock_guard const held(tables_lock);
  if (unused_operations.empty()) unused_operations.push_back(&operations.emplace_back());
  PendingOperation& operation = *unused_operations.back();
  unused_operations.pop_back();
  operation.done = &on_done;
  operation.pending = &pending_of(handle, process);
  operation.pending->count.fetch_add(1, std::memory_order_relaxed);
  return operation;
}

using PendingList = std::vector<OperationSet*>;

PendingList implicit_operations() {
  std::lock_guard const held(tables_lock);
  PendingList all;
  for (auto& [process, pending] : implicit_pending) all.push_back(&pending);
  return all;
}

/// A thread that tests or waits for the operations of a handle. Several threads may do so with one handle:
/// the first that finds the operations complete empties the handle, and the last releases its OperationSet.
class Waiter {
 public:
  explicit Waiter(int& handle) : handle_(handle) {
    if (handle_.load(std::memory_order_relaxed) == no_pending) return;  // takes no lock
    std::lock_guard const held(tables_lock);
    pending_ = find(handle_.load(std::memory_order_relaxed));
    if (pending_ != nullptr) ++pending_->waiters;
  }
  ~Waiter() {
    if (pending_ == nullptr) return;
    std::lock_guard const held(tables_lock);
    release(*pending_);
  }
  Waiter(Waiter const&) = delete;
  Waiter& operator=(Waiter const&) = delete;

  /// Null if there are no operations.
  OperationSet* pending() const noexcept { return pending_; }

  /// Call when the operations are complete. Another thread may have emptied the handle, or have issued
  /// further operations with it.
  void empty_handle() {
    std::lock_guard const held(tables_lock);
    if (find(handle_.load(std::memory_order_relaxed)) != pending_ || has_further(*pending_)) return;
    retire(*pending_);
    handle_.store(no_pending, std::memory_order_relaxed);
  }

 private:
  std::atomic_ref<int> handle_;
  OperationSet* pending_ = nullptr;
};

/// A thread that waits for the operations of all handles. It has no access to the handles themselves, whose
/// numbers therefore refer to nothing afterwards.
class WaiterForAll {
 public:
  WaiterForAll() {
    std::lock_guard const held(tables_lock);
    all_.reserve(pending_by_handle.size());
    for (auto const& [number, pending] : pending_by_handle) {
      ++pending->waiters;
      all_.push_back(pending);
    }
  }
  ~WaiterForAll() {
    std::lock_guard const held(tables_lock);
    for (OperationSet* const pending : all_) {
      // Another thread may have emptied the handle, or have issued further operations with it.
      if (pending->handle != no_pending && !has_further(*pending)) retire(*pending);
      release(*pending);
    }
  }
  WaiterForAll(WaiterForAll const&) = delete;
  WaiterForAll& operator=(WaiterForAll const&) = delete;

  PendingList const& pending() const noexcept { return all_; }

 private:
  PendingList all_;
};

/// Waits for the operations and returns the first failure, if any.
OperationDescription finish(OperationSet& pending) {
  mpixrma::engine_of_process().waits.until([&] { return is_complete(pending); });
  std::lock_guard const held(tables_lock);  // several threads may wait for the same operations
  return std::exchange(pending.failed, {});
}

/// Waits for the operations of all processes and returns the first failure, if any.
OperationDescription finish(PendingList const& all) {
  OperationDescription first;
  for (OperationSet* const pending : all) {
    OperationDescription const failed = finish(*pending);
    if (!mpixrma::engine::failed(first.status)) first = failed;
  }
  return first;
}

/// Waits for the operations of a handle and empties the handle.
OperationDescription finish(Waiter& waiter) {
  OperationDescription const failed = finish(*waiter.pending());
  waiter.empty_handle();
  return failed;
}

int& checked(char const* call, void* handle) {
  if (handle == nullptr) fail(call, "the handle is null");
  return *handle_of(handle);
}

bool test_implicit(char const* call) {
  PendingList const all = implicit_operations();
  if (all.empty()) return true;
  mpixrma::engine_of_process().waits.progress();
  bool const complete =
      std::all_of(all.begin(), all.end(), [](OperationSet* one) { return is_complete(*one); });
  if (complete) check_after_wait(call, finish(all));
  return complete;
}

}  // namespace

void issue_nonblocking(char const* call, mpixrma::Target& target, mpixrma::engine::RmaOp& operation,
                       int* handle) {
  PendingOperation& kept = new_operation(handle, target.rank);
  kept.description = description_of(call, target, operation, Status::ok);
  operation.completion = &kept;
  mpixrma::engine::Issued issued;
  try {
    issued = mpixrma::issue(target, operation);
  } catch (...) {
    on_done(kept, Status::ok, 0);  // nothing was issued: no later wait may report this failure
    throw;
  }
  if (mpixrma::engine::failed(issued.status) || issued.complete) on_done(kept, issued.status, 0);
  check_operation(call, target, operation, issued.status);
}

bool test(char const* call, int* handle) {
  (void)running_world(call);
  if (handle == nullptr) return test_implicit(call);
  Waiter waiter(*handle);
  if (waiter.pending() == nullptr) return true;
  mpixrma::engine_of_process().waits.progress();
  bool const complete = is_complete(*waiter.pending());
  if (complete) check_after_wait(call, finish(waiter));
  return complete;
}

void wait_for(char const* call, int* handle) {
  (void)running_world(call);
  if (handle == nullptr) return wait_for_all(call);
  Waiter waiter(*handle);
  if (waiter.pending() != nullptr) check_after_wait(call, finish(waiter));
}

void wait_for_process(char const* call, int process) {
  check_process(call, process);
  OperationSet* pending = nullptr;
  {
    std::lock_guard const held(tables_lock);
    auto const found = implicit_pending.find(process);
    if (found != implicit_pending.end()) pending = &found->second;
  }
  if (pending != nullptr) check_after_wait(call, finish(*pending));
}

void wait_for_all(char const* call) {
  (void)running_world(call);
  PendingList all = implicit_operations();
  WaiterForAll const waiter;
  all.insert(all.end(), waiter.pending().begin(), waiter.pending().end());
  check_after_wait(call, finish(all));
}

}  // namespace armci

using namespace armci;

void ARMCI_INIT_HANDLE(void* hdl) {
  abort_on_failure([&] { checked("ARMCI_INIT_HANDLE", hdl) = no_pending; });
}
// Every handle can hold several operations, so an aggregate needs no flag.
void ARMCI_SET_AGGREGATE_HANDLE(void* handle) {
  abort_on_failure([&] { (void)checked("ARMCI_SET_AGGREGATE_HANDLE", handle); });
}
void ARMCI_UNSET_AGGREGATE_HANDLE(void* handle) {
  abort_on_failure([&] { (void)checked("ARMCI_UNSET_AGGREGATE_HANDLE", handle); });
}

int PARMCI_Wait(void* hdl) {
  return return_code_of([&] {
    wait_for("ARMCI_Wait", handle_of(hdl));
    return 0;
  });
}
int PARMCI_Test(void* hdl) {
  enum { complete, outstanding, failed };
  return return_code_of([&] { return test("ARMCI_Test", handle_of(hdl)) ? complete : outstanding; }, failed);
}
int PARMCI_WaitProc(int proc) {
  return return_code_of([&] {
    wait_for_process("ARMCI_WaitProc", proc);
    return 0;
  });
}
int PARMCI_WaitAll(void) {
  return return_code_of([&] {
    wait_for_all("ARMCI_WaitAll");
    return 0;
  });
}

ARMCI_ALIAS(Wait);
ARMCI_ALIAS(Test);
ARMCI_ALIAS(WaitProc);
ARMCI_ALIAS(WaitAll);
