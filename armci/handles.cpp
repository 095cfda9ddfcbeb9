#include "armci/handles.hpp"
#include "mpix/runtime/process_engine.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace armci {

namespace {

using mpixrma::engine::Engine;
using mpixrma::engine::Status;

// A handle without pending operations, including a zeroed handle; `explicit_pending` numbers the others from
// 1.
constexpr int no_pending = 0;

std::mutex tables_lock;
std::deque<Pending> explicit_pending;
std::vector<int> unused_pending;
std::map<int, Pending> implicit_pending;  ///< by process; an entry remains after its use
std::deque<PendingOperation> operations;
std::vector<PendingOperation*> unused_operations;

void on_done(mpixrma::engine::Completion& completion, Status status, std::size_t) noexcept {
  auto& operation = static_cast<PendingOperation&>(completion);
  Pending& pending = *operation.pending;
  {
    std::lock_guard const held(tables_lock);
    if (mpixrma::engine::failed(status) && !mpixrma::engine::failed(pending.failed.status)) {
      pending.failed = operation.named;
      pending.failed.status = status;
    }
    unused_operations.push_back(&operation);
  }
  pending.count.fetch_sub(1, std::memory_order_release);
}

/// Returns the Pending that a handle refers to, or nullptr if the handle is invalid or empty.
Pending* find(int handle) {
  auto const index = static_cast<std::size_t>(handle) - 1;  // wraps for no_pending
  if (index >= explicit_pending.size() || !explicit_pending[index].in_use) return nullptr;
  return &explicit_pending[index];
}

Pending& pending_of(int* handle, int process) {
  if (handle == nullptr) return implicit_pending[process];
  if (Pending* const known = find(*handle)) return *known;
  if (unused_pending.empty()) {
    Pending& made = explicit_pending.emplace_back();
    made.number = static_cast<int>(explicit_pending.size());
    unused_pending.push_back(made.number);
  }
  *handle = unused_pending.back();
  unused_pending.pop_back();
  Pending& pending = explicit_pending[static_cast<std::size_t>(*handle) - 1];
  pending.in_use = true;
  return pending;
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

bool is_complete(Pending const& pending) { return pending.count.load(std::memory_order_acquire) == 0; }

using PendingList = std::vector<Pending*>;

PendingList implicit_operations() {
  std::lock_guard const held(tables_lock);
  PendingList all;
  for (auto& [process, pending] : implicit_pending) all.push_back(&pending);
  return all;
}

/// A thread that tests or waits for the operations of a handle. Several threads may do so with one handle:
/// the first that finds the operations complete empties the handle, and the last releases its Pending.
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
    if (--pending_->waiters == 0 && !pending_->in_use) unused_pending.push_back(pending_->number);
  }
  Waiter(Waiter const&) = delete;
  Waiter& operator=(Waiter const&) = delete;

  /// Null if there are no operations.
  Pending* pending() const noexcept { return pending_; }

  /// Call when the operations are complete.
  void empty_handle() {
    std::lock_guard const held(tables_lock);
    if (find(handle_.load(std::memory_order_relaxed)) != pending_) return;  // emptied by another thread
    pending_->in_use = false;
    handle_.store(no_pending, std::memory_order_relaxed);
  }

 private:
  std::atomic_ref<int> handle_;
  Pending* pending_ = nullptr;
};

/// Waits for the operations and returns the first failure, if any.
FailedOperation finish(Pending& pending) {
  mpixrma::engine_of_process().waits.until([&] { return is_complete(pending); });
  std::lock_guard const held(tables_lock);  // several threads may wait for the same operations
  return std::exchange(pending.failed, {});
}

/// Waits for the operations of all processes and returns the first failure, if any.
FailedOperation finish(PendingList const& all) {
  FailedOperation first;
  for (Pending* const pending : all) {
    FailedOperation const failed = finish(*pending);
    if (!mpixrma::engine::failed(first.status)) first = failed;
  }
  return first;
}

/// Waits for the operations of a handle and empties the handle.
FailedOperation finish(Waiter& waiter) {
  FailedOperation const failed = finish(*waiter.pending());
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
  bool const complete = std::all_of(all.begin(), all.end(), [](Pending* one) { return is_complete(*one); });
  if (complete) check_after_wait(call, finish(all));
  return complete;
}

}  // namespace

void issue_nonblocking(char const* call, mpixrma::Target& target, mpixrma::engine::RmaOp& operation,
                       int* handle) {
  PendingOperation& kept = new_operation(handle, target.rank);
  kept.named = named(call, target, operation, Status::ok);
  operation.completion = &kept;
  mpixrma::engine::Issued const issued = mpixrma::issue(target, operation);
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
  Pending* pending = nullptr;
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
  {
    std::lock_guard const held(tables_lock);
    for (auto& pending : explicit_pending) all.push_back(&pending);
  }
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
