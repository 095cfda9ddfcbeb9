/// Mutexes, implemented by the engine's locks.
#include "armci/mutex.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "armci/groups.hpp"
#include "armci/state.hpp"
#include "engine/sync/lock_table.hpp"
#include "include/armci/armcix.h"
#include "mpix/comm/collective.hpp"
#include "mpix/runtime/process_engine.hpp"

namespace armci {

namespace {

using mpixrma::engine::LockId;
using mpixrma::engine::LockRequest;
using mpixrma::engine::Status;

/// The thread that holds a mutex: its number as an owner of the engine's locks, plus 1. 0: not held by this
/// process.
using Holder = std::atomic<std::uint32_t>;
/// A thread of this process is releasing the mutex.
constexpr std::uint32_t releasing = UINT32_MAX;

std::uint32_t this_thread() noexcept {
  static std::atomic<std::uint32_t> threads{0};
  // With constinit, an access does not check whether the variable is initialised.
  static constinit thread_local std::uint32_t number = 0;
  if (number == 0)
    number = threads.fetch_add(1, std::memory_order_relaxed) % (mpixrma::engine::max_lock_owners - 1) + 1;
  return number;
}

/// The library's view of an armcix_mutex_hdl_t. Of the public struct it uses `grp`, a duplicate of the group,
/// and the counts.
struct MutexSet : armcix_mutex_hdl_s {
  MutexSet() { grp.comm = MPI_COMM_NULL; }
  ~MutexSet() { ARMCI_Group_free(&grp); }
  MutexSet(MutexSet const&) = delete;
  MutexSet& operator=(MutexSet const&) = delete;

  std::vector<int> counts;         ///< number of mutexes per process of the group
  std::vector<int> first_locks;    ///< lock number of each process's first mutex
  std::vector<std::size_t> begin;  ///< index of each process's first mutex in `held`
  std::vector<Holder> held;        ///< the thread that holds the mutex, for all mutexes
};

/// A mutex of a set.
struct Mutex {
  mpixrma::Target& target;
  LockId lock;
  Holder& held;

  bool is_held_here() const noexcept { return held.load(std::memory_order_relaxed) != 0; }
  /// Requests the lock for `thread`, the calling one. Requests of the threads of a process wait in the queue
  /// of the target like those of other processes.
  Status acquire(std::uint32_t thread, LockRequest&& request) {
    // Until the release is issued, the lock has an owner, who may be this thread.
    mpixrma::engine_of_process().waits.until(
        [&] { return held.load(std::memory_order_acquire) != releasing; });
    request.lock = lock;
    request.owner = thread - 1;
    Status const status = mpixrma::lock_and_wait(target, request);
    if (status == Status::ok) held.store(thread, std::memory_order_relaxed);
    return status;
  }
};

armcix_mutex_hdl_t global_set = nullptr;

MutexSet& checked(char const* call, armcix_mutex_hdl_t handle) {
  if (handle == nullptr) fail(call, "the mutexes are not created");
  return *static_cast<MutexSet*>(handle);
}

/// Allocates the locks of this process's mutexes. Every process throws a Failure if the allocation fails at
/// any process.
void make_locks(char const* call, MutexSet& set) {
  LockId first = 0;
  Steps steps;
  steps.run([&] {
    auto const count = static_cast<std::uint32_t>(set.my_count);
    if (count != 0) check(call, -1, nullptr, mpixrma::engine_of_process().locks.create(count, &first));
  });
  check_collectively(call, set.grp.comm, steps);
  set.first_locks = mpixrma::exchange(set.grp.comm, static_cast<int>(first), set.grp.size);
}

void end_locks(char const* call, MutexSet const& set) {
  if (set.my_count == 0) return;
  auto const first = static_cast<LockId>(set.first_locks[static_cast<std::size_t>(set.grp.rank)]);
  auto const count = static_cast<std::uint32_t>(set.my_count);
  check(call, -1, nullptr, mpixrma::engine_of_process().locks.destroy(first, count));
}

/// Collective over the group, which may be freed before the mutexes.
armcix_mutex_hdl_t create(char const* call, int count, ARMCI_Group const* group) {
  auto set = std::make_unique<MutexSet>();
  duplicate(call, group, &set->grp);
  set->my_count = count;
  set->windows = nullptr;
  set->bases = nullptr;
  set->counts = mpixrma::exchange(set->grp.comm, count, set->grp.size);
  // Check all counts after the exchange, so that all processes fail together.
  if (count < 0) fail(call, "count %d is negative", count);
  if (*std::min_element(set->counts.begin(), set->counts.end()) < 0)
    fail(call, "another process passed a negative count");
  set->max_count = *std::max_element(set->counts.begin(), set->counts.end());
  if (set->max_count > static_cast<int>(mpixrma::engine::LockTable::max_locks))
    fail(call, "%d mutexes at one process are too many", set->max_count);
  set->begin.resize(set->counts.size() + 1);
  std::inclusive_scan(set->counts.begin(), set->counts.end(), set->begin.begin() + 1, std::plus<>{},
                      std::size_t{0});
  set->held = std::vector<Holder>(set->begin.back());
  make_locks(call, *set);
  return set.release();
}

int destroy(char const* call, armcix_mutex_hdl_t handle) {
  return return_code_of([&] {
    (void)running_world(call);
    std::unique_ptr<MutexSet> const set(&checked(call, handle));
    Steps steps;
    // Unlocks that this process has issued must complete before the locks are freed.
    steps.run([&] { complete_everywhere(call); });
    MPI_Barrier(set->grp.comm);
    steps.run([&] { end_locks(call, *set); });
    check_collectively(call, set->grp.comm, steps);
    return 0;
  });
}

Mutex find(char const* call, MutexSet& set, int mutex, int process) {
  if (process < 0 || process >= set.grp.size)
    fail(call, "process %d is not in 0..%d", process, set.grp.size - 1);
  auto const index = static_cast<std::size_t>(process);
  if (mutex < 0 || mutex >= set.counts[index])
    fail(call, "mutex %d does not exist: process %d has %d", mutex, process, set.counts[index]);
  return {target_of(call, set.grp.grp_to_abs[process]), static_cast<LockId>(set.first_locks[index] + mutex),
          set.held[set.begin[index] + static_cast<std::size_t>(mutex)]};
}

void lock(char const* call, MutexSet& set, int mutex, int process) {
  Mutex found = find(call, set, mutex, process);
  std::uint32_t const thread = this_thread();
  Status const status = found.acquire(thread, {});
  if (status == Status::bad_argument && found.held.load(std::memory_order_relaxed) == thread)
    fail(call, "mutex %d of process %d is held by the caller", mutex, process);
  check(call, found.target.rank, nullptr, status);
}

/// The next holder sees all updates of the memory of the mutex's process that this process made while it held
/// the mutex.
void unlock(char const* call, MutexSet& set, int mutex, int process) {
  Mutex const found = find(call, set, mutex, process);
  // Any thread of the process that locked an ARMCI mutex may unlock it.
  std::uint32_t holder = found.held.load(std::memory_order_relaxed);
  do {
    if (holder == 0 || holder == releasing)
      fail(call, "mutex %d of process %d is not held by this process", mutex, process);
  } while (!found.held.compare_exchange_weak(holder, releasing, std::memory_order_relaxed));
  Status const status = mpixrma::unlock(found.target, found.lock, holder - 1);
  // Another thread whose request was queued may hold the mutex now. Release: pairs with the acquire in
  // Mutex::acquire(), whose request follows the release of the lock.
  std::uint32_t expected = releasing;
  found.held.compare_exchange_strong(expected, 0, std::memory_order_release, std::memory_order_relaxed);
  check(call, found.target.rank, nullptr, status);
}

}  // namespace

void destroy_global_mutexes() {
  if (global_set != nullptr) (void)destroy("ARMCI_Finalize", std::exchange(global_set, nullptr));
}

}  // namespace armci

using namespace armci;

armcix_mutex_hdl_t ARMCIX_Create_mutexes_hdl(int count, ARMCI_Group* pgroup) {
  return abort_on_failure([&] { return create("ARMCIX_Create_mutexes_hdl", count, pgroup); });
}
int ARMCIX_Destroy_mutexes_hdl(armcix_mutex_hdl_t hdl) { return destroy("ARMCIX_Destroy_mutexes_hdl", hdl); }

void ARMCIX_Lock_hdl(armcix_mutex_hdl_t hdl, int mutex, int proc) {
  abort_on_failure([&] { lock("ARMCIX_Lock_hdl", checked("ARMCIX_Lock_hdl", hdl), mutex, proc); });
}
void ARMCIX_Unlock_hdl(armcix_mutex_hdl_t hdl, int mutex, int proc) {
  abort_on_failure([&] { unlock("ARMCIX_Unlock_hdl", checked("ARMCIX_Unlock_hdl", hdl), mutex, proc); });
}

int ARMCIX_Trylock_hdl(armcix_mutex_hdl_t hdl, int mutex, int proc) {
  enum { acquired, taken, failed };
  return return_code_of(
      [&]() -> int {
        char const* const call = "ARMCIX_Trylock_hdl";
        MutexSet& set = checked(call, hdl);
        Mutex found = find(call, set, mutex, proc);
        if (found.is_held_here()) return taken;
        Status const status = found.acquire(this_thread(), {.attempt = true});
        if (status == Status::busy) return taken;
        check(call, found.target.rank, nullptr, status);
        return acquired;
      },
      failed);
}

void ARMCIX_Progress(void) {
  abort_on_failure([] {
    (void)running_world("ARMCIX_Progress");
    mpixrma::engine_of_process().waits.progress();
  });
}

int PARMCI_Create_mutexes(int count) {
  return return_code_of([&] {
    if (global_set != nullptr) fail("ARMCI_Create_mutexes", "the mutexes exist already");
    ARMCI_Group all;
    ARMCI_Group_get_world(&all);
    global_set = create("ARMCI_Create_mutexes", count, &all);
    return 0;
  });
}
int PARMCI_Destroy_mutexes(void) {
  return return_code_of([&] {
    if (global_set == nullptr) fail("ARMCI_Destroy_mutexes", "the mutexes are not created");
    return destroy("ARMCI_Destroy_mutexes", std::exchange(global_set, nullptr));
  });
}
void PARMCI_Lock(int mutex, int proc) {
  abort_on_failure([&] { lock("ARMCI_Lock", checked("ARMCI_Lock", global_set), mutex, proc); });
}
void PARMCI_Unlock(int mutex, int proc) {
  abort_on_failure([&] { unlock("ARMCI_Unlock", checked("ARMCI_Unlock", global_set), mutex, proc); });
}

ARMCI_ALIAS(Create_mutexes);
ARMCI_ALIAS(Destroy_mutexes);
ARMCI_ALIAS(Lock);
ARMCI_ALIAS(Unlock);
