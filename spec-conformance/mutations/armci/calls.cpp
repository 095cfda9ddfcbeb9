/// Completion, read-modify-writes, mutexes, memory and groups of ARMCI that break a promise.
#include <cstdio>
#include <cstdlib>
#include <set>
#include <utility>

#include "spec-conformance/mutations/armci/broken.hpp"
#include "spec-conformance/mutations/next_definition.hpp"

namespace mpixrma::broken {

namespace {

using Until = WithheldTransfers::Until;

/// A read-modify-write by a get and a put.
int modify_in_two_steps(long add, long* local, void* remote, int process) {
  long before = 0;
  if (int const code = PARMCI_Get(remote, &before, sizeof before, process); code != 0) return code;
  let_others_in();
  long after = add != 0 ? before + add : *local;
  *local = before;
  return PARMCI_Put(&after, remote, sizeof after, process);
}

void forget_settings() {
  if (is("P_10")) ::unsetenv("ARMCI_STRIDED_METHOD");
  if (is("P_18") && std::getenv("ARMCI_IOV_METHOD") != nullptr) ::unsetenv("ARMCI_IOV_CHECKS");
}

std::vector<int> members_of(ARMCI_Group* group) {
  int size = 0;
  next_definition<void(ARMCI_Group*, int*)>("ARMCI_Group_size")(group, &size);
  std::vector<int> ids;
  for (int rank = 0; rank < size; ++rank)
    ids.push_back(next_definition<int(ARMCI_Group*, int)>("ARMCI_Absolute_id")(group, rank));
  return ids;
}

/// Groups of ARMCI_Group_create.
std::set<ARMCI_Group*> created;

std::vector<char>& before_access() {
  static std::vector<char> bytes;
  return bytes;
}

}  // namespace
}  // namespace mpixrma::broken

using namespace mpixrma::broken;

int ARMCI_Init(void) {
  forget_settings();
  return PARMCI_Init();
}

int ARMCI_Finalize(void) {
  int const code = PARMCI_Finalize();
  while (is("A_20") && PARMCI_Initialized() != 0) (void)PARMCI_Finalize();
  return code;
}

void ARMCI_Fence(int proc) {
  if (!is("A_16")) withheld().issue(Until::next, proc);
  withheld().issue(Until::next_done, proc);
  PARMCI_Fence(proc);
}

void ARMCI_AllFence(void) {
  if (is("A_17")) {
    withheld().issue(Until::next, 0);
  } else {
    withheld().issue_all(Until::next);
  }
  withheld().issue_all(Until::next_done);
  PARMCI_AllFence();
}

void ARMCI_Barrier(void) {
  withheld().issue_all(Until::next);
  withheld().issue_all(Until::next_done);
  PARMCI_Barrier();
  if (!is("A_01") && !is("P_03")) return;
  withheld().issue_all(Until::together);
  PARMCI_Barrier();
}

void armci_msg_barrier(void) {
  if (is("P_16")) return;
  parmci_msg_barrier();
}

int ARMCI_Rmw(int op, void* ploc, void* prem, int value, int proc) {
  bool const follows_swap =
      std::exchange(previous, op == ARMCI_SWAP ? Previous::swap : Previous::other) == Previous::swap;
  return in_turn(proc, [&] {
    auto* const local = static_cast<long*>(ploc);
    if (is("A_11") && op == ARMCI_FETCH_AND_ADD_LONG) return modify_in_two_steps(value, local, prem, proc);
    if (is("P_06") && op == ARMCI_SWAP_LONG) return modify_in_two_steps(0, local, prem, proc);
    if (is("A_12") && follows_swap && op == ARMCI_SWAP_LONG) op = ARMCI_FETCH_AND_ADD_LONG;
    int const code = PARMCI_Rmw(op, ploc, prem, value, proc);
    return is("A_13") ? 0 : code;
  });
}

void ARMCI_Lock(int mutex, int proc) {
  previous = Previous::other;
  if (!is("A_14")) PARMCI_Lock(mutex, proc);
}

void ARMCI_Unlock(int mutex, int proc) {
  withheld().issue_all(Until::next);
  withheld().issue_all(Until::next_done);
  if (!is("A_14")) PARMCI_Unlock(mutex, proc);
}

int ARMCI_Malloc(void** base_ptrs, armci_size_t size) {
  int const code = PARMCI_Malloc(base_ptrs, is("P_05") && size == 0 ? 8 : size);
  if (code != 0) return code;
  int const me = armci_msg_me();
  std::vector<int> ids;
  for (int process = 0; process < armci_msg_nproc(); ++process) ids.push_back(process);
  allocations().add(ids, base_ptrs, size);
  for (int const process : ids)
    if (is("A_18") && size < 1024 && base_ptrs[process] != nullptr) base_ptrs[process] = base_ptrs[me];
  return code;
}

int ARMCI_Malloc_group(void** ptr_arr, armci_size_t bytes, ARMCI_Group* group) {
  int const code =
      next_definition<int(void**, armci_size_t, ARMCI_Group*)>("ARMCI_Malloc_group")(ptr_arr, bytes, group);
  if (code == 0) allocations().add(members_of(group), ptr_arr, bytes);
  return code;
}

int ARMCI_Free(void* ptr) {
  if (is("A_19")) {
    PARMCI_Barrier();
    return 0;
  }
  allocations().remove(ptr);
  return PARMCI_Free(ptr);
}

void ARMCI_Access_begin(void* ptr) {
  auto const* const bytes = static_cast<char const*>(ptr);
  if (is("P_07")) before_access().assign(bytes, bytes + sizeof(long));
  PARMCI_Access_begin(ptr);
}

void ARMCI_Access_end(void* ptr) {
  if (is("P_07")) std::memcpy(ptr, before_access().data(), before_access().size());
  PARMCI_Access_end(ptr);
}

void ARMCI_Group_create(int members, int* processes, ARMCI_Group* group) {
  next_definition<void(int, int*, ARMCI_Group*)>("ARMCI_Group_create")(members, processes, group);
  created.insert(group);
}

void ARMCI_Group_free(ARMCI_Group* group) {
  created.erase(group);
  next_definition<void(ARMCI_Group*)>("ARMCI_Group_free")(group);
}

int ARMCI_Absolute_id(ARMCI_Group* group, int group_rank) {
  if (is("P_04") && created.count(group) != 0) return group_rank;
  return next_definition<int(ARMCI_Group*, int)>("ARMCI_Absolute_id")(group, group_rank);
}

void ARMCI_Error(char const* msg, int code) {
  if (is("A_22")) {
    std::fprintf(stderr, "%d: %s %d\n", armci_msg_me(), msg, code);
    armci_msg_abort(code);
  }
  next_definition<void(char const*, int)>("ARMCI_Error")(msg, code);
}

int ARMCIX_Mode_set(int mode, void* ptr, ARMCI_Group* group) {
  if (is("P_11")) return 0;
  return next_definition<int(int, void*, ARMCI_Group*)>("ARMCIX_Mode_set")(mode, ptr, group);
}
