/// Ticket locks: who draws a number is served in its turn. Two words in the memory of the mutex's process.
#include "armci/mutex.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "armci/groups.hpp"
#include "armci/memory.hpp"
#include "armci/onesided.hpp"
#include "armci/rmw.hpp"
#include "engine/atomic/backoff.hpp"
#include "include/armci/armcix.h"
#include "mpix/comm/collective.hpp"
#include "mpix/runtime/process_engine.hpp"

namespace armci {

namespace {

/// On a cache line of its own.
struct alignas(64) Ticket {
  long next;
  long serving;
};

/// The library's view of an armcix_mutex_hdl_t: grp, a duplicate, and bases are what it uses of the public
/// struct.
struct MutexSet : armcix_mutex_hdl_s {
  MutexSet() { grp.comm = MPI_COMM_NULL; }
  ~MutexSet() { ARMCI_Group_free(&grp); }
  MutexSet(MutexSet const&) = delete;
  MutexSet& operator=(MutexSet const&) = delete;

  std::vector<uint8_t*> base_list;           ///< what `bases` points to
  std::vector<int> counts;                   ///< mutexes per process of the group
  std::map<std::pair<int, int>, long> held;  ///< (mutex, process) -> our number
};

armcix_mutex_hdl_t global_set = nullptr;

MutexSet& open(char const* call, armcix_mutex_hdl_t handle) {
  if (handle == nullptr) fail(call, "the mutexes are not created");
  return *static_cast<MutexSet*>(handle);
}

/// Collective over the group, which may be freed before the mutexes.
armcix_mutex_hdl_t create(char const* call, int count, ARMCI_Group const* group) {
  auto set = std::make_unique<MutexSet>();
  duplicate(call, group, &set->grp);
  MPI_Comm const comm = set->grp.comm;
  set->my_count = count;
  set->windows = nullptr;
  auto const size = static_cast<std::size_t>(set->grp.size);
  set->counts = mpix::exchange(comm, count, set->grp.size);
  // Of all, once all know it.
  if (count < 0) fail(call, "count %d is negative", count);
  if (*std::min_element(set->counts.begin(), set->counts.end()) < 0)
    fail(call, "another process has called it with a negative count");
  set->max_count = *std::max_element(set->counts.begin(), set->counts.end());
  set->base_list.resize(size);
  set->bases = set->base_list.data();
  allocate(call, reinterpret_cast<void**>(set->bases), static_cast<armci_size_t>(sizeof(Ticket)) * count,
           comm);
  auto* const mine = reinterpret_cast<Ticket*>(set->bases[set->grp.rank]);
  for (int i = 0; i < count; ++i) mine[i] = Ticket{0, 0};
  MPI_Barrier(comm);
  return set.release();
}

int destroy(char const* call, armcix_mutex_hdl_t handle) {
  return returning([&] {
    std::unique_ptr<MutexSet> const set(&open(call, handle));
    release(call, set->bases[set->grp.rank], set->grp.comm);
    return 0;
  });
}

Ticket* find(char const* call, MutexSet& set, int mutex, int process) {
  if (process < 0 || process >= set.grp.size)
    fail(call, "process %d is not in 0..%d", process, set.grp.size - 1);
  int const count = set.counts[static_cast<std::size_t>(process)];
  if (mutex < 0 || mutex >= count)
    fail(call, "mutex %d does not exist: process %d has %d", mutex, process, count);
  return reinterpret_cast<Ticket*>(set.bases[process]) + mutex;
}

long served(char const* call, long* serving, int process) {
  long value = 0;
  contiguous<Direction::get>(call, &value, serving, sizeof value, process, {}, Blocking{});
  std::atomic_thread_fence(std::memory_order_acquire);
  return value;
}

void lock(char const* call, MutexSet& set, int mutex, int process) {
  Ticket* const ticket = find(call, set, mutex, process);
  if (set.held.count({mutex, process}) != 0)
    fail(call, "mutex %d of process %d is held by the caller", mutex, process);
  int const target = set.grp.grp_to_abs[process];
  long const number = fetch_and_add(call, 1, &ticket->next, target);
  mpix::engine::Backoff backoff;
  while (served(call, &ticket->serving, target) != number) backoff.pause();
  set.held[{mutex, process}] = number;
}

void unlock(char const* call, MutexSet& set, int mutex, int process) {
  Ticket* const ticket = find(call, set, mutex, process);
  auto const held = set.held.find({mutex, process});
  if (held == set.held.end()) fail(call, "mutex %d of process %d is not held by the caller", mutex, process);
  int const target = set.grp.grp_to_abs[process];
  // What was done under the mutex is seen by its next holder.
  mpix::fence(target_of(call, target));
  long next = held->second + 1;
  set.held.erase(held);
  contiguous<Direction::put>(call, &next, &ticket->serving, sizeof next, target, {}, Blocking{});
}

}  // namespace

void destroy_all_mutexes() {
  if (global_set != nullptr) (void)destroy("ARMCI_Finalize", std::exchange(global_set, nullptr));
}

}  // namespace armci

using namespace armci;

armcix_mutex_hdl_t ARMCIX_Create_mutexes_hdl(int count, ARMCI_Group* pgroup) {
  return ending([&] { return create("ARMCIX_Create_mutexes_hdl", count, pgroup); });
}
int ARMCIX_Destroy_mutexes_hdl(armcix_mutex_hdl_t hdl) { return destroy("ARMCIX_Destroy_mutexes_hdl", hdl); }

void ARMCIX_Lock_hdl(armcix_mutex_hdl_t hdl, int mutex, int proc) {
  ending([&] { lock("ARMCIX_Lock_hdl", open("ARMCIX_Lock_hdl", hdl), mutex, proc); });
}
void ARMCIX_Unlock_hdl(armcix_mutex_hdl_t hdl, int mutex, int proc) {
  ending([&] { unlock("ARMCIX_Unlock_hdl", open("ARMCIX_Unlock_hdl", hdl), mutex, proc); });
}

int ARMCIX_Trylock_hdl(armcix_mutex_hdl_t hdl, int mutex, int proc) {
  enum { acquired, taken, failed };
  return returning(
      [&]() -> int {
        char const* const call = "ARMCIX_Trylock_hdl";
        MutexSet& set = open(call, hdl);
        Ticket* const ticket = find(call, set, mutex, proc);
        int const target = set.grp.grp_to_abs[proc];
        // The next number is drawn only if it is the one being served.
        using namespace mpix::engine;
        long expected = served(call, &ticket->serving, target);
        long const wanted = expected + 1;
        long seen = 0;
        Update update;
        update.operation = Operation::compare_swap_eq;
        update.guarantees = Guarantee::element_atomic;
        update.origin = reinterpret_cast<std::byte const*>(&expected);
        update.operand2 = reinterpret_cast<std::byte const*>(&wanted);
        update.result = reinterpret_cast<std::byte*>(&seen);
        update.target = reinterpret_cast<mpix::RemoteAddress>(&ticket->next);
        update.origin_layout = update.result_layout = update.target_layout = Layout::contiguous(sizeof(long));
        check(call, target, &ticket->next, mpix::issue_and_wait(target_of(call, target), update));
        if (seen != expected) return taken;
        set.held[{mutex, proc}] = expected;
        return acquired;
      },
      failed);
}

void ARMCIX_Progress(void) {
  ending([] {
    (void)running_world("ARMCIX_Progress");
    mpix::engine_of_process().progress();
  });
}

int PARMCI_Create_mutexes(int count) {
  return returning([&] {
    if (global_set != nullptr) fail("ARMCI_Create_mutexes", "the mutexes exist already");
    ARMCI_Group all;
    ARMCI_Group_get_world(&all);
    global_set = create("ARMCI_Create_mutexes", count, &all);
    return 0;
  });
}
int PARMCI_Destroy_mutexes(void) {
  return returning([&] {
    if (global_set == nullptr) fail("ARMCI_Destroy_mutexes", "the mutexes are not created");
    return destroy("ARMCI_Destroy_mutexes", std::exchange(global_set, nullptr));
  });
}
void PARMCI_Lock(int mutex, int proc) {
  ending([&] { lock("ARMCI_Lock", open("ARMCI_Lock", global_set), mutex, proc); });
}
void PARMCI_Unlock(int mutex, int proc) {
  ending([&] { unlock("ARMCI_Unlock", open("ARMCI_Unlock", global_set), mutex, proc); });
}

ARMCI_ALIAS(Create_mutexes);
ARMCI_ALIAS(Destroy_mutexes);
ARMCI_ALIAS(Lock);
ARMCI_ALIAS(Unlock);
