#include "armci/memory.hpp"

#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "armci/groups.hpp"
#include "armci/modes.hpp"
#include "include/armci/armcix.h"
#include "include/mpix_rma/profiling.h"
#include "mpix/runtime/process_engine.hpp"

namespace armci {

namespace {
std::mutex allocations_lock;              ///< threads may allocate for several groups at once
std::set<std::vector<int>> allocated_by;  ///< the groups of allocations, as members_of() returns them
/// Not yet freed, of this process, with an element of `allocated_by`.
std::map<void*, std::vector<int> const*> allocations;

int class_of(int code) {
  int error_class = code;
  MPI_Error_class(code, &error_class);
  return error_class;
}

void note(void* base, MPI_Comm comm) {
  if (base == nullptr) return;
  std::vector<int> members = members_of(comm);
  std::lock_guard const held(allocations_lock);
  allocations[base] = &*allocated_by.insert(std::move(members)).first;
}

bool forget(void* base) {
  std::lock_guard const held(allocations_lock);
  return allocations.erase(base) != 0;
}
}  // namespace

bool is_allocated(void* base) {
  std::lock_guard const held(allocations_lock);
  return allocations.contains(base);
}

bool is_allocated_by(void* base, MPI_Comm comm) {
  std::vector<int> const members = members_of(comm);
  std::lock_guard const held(allocations_lock);
  auto const found = allocations.find(base);
  return found != allocations.end() && *found->second == members;
}

void allocate(char const* call, void** bases, armci_size_t bytes, MPI_Comm comm) {
  (void)running_world(call);
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  // Collective even if it fails: a wrong argument at one process is an error at all of them.
  int const code = PMPIX_RMA_Allocate(bytes, MPI_INFO_NULL, comm, nullptr, bases);
  if (bases == nullptr) fail(call, "the pointer array is null");
  if (bytes < 0) fail(call, "size %ld is negative", bytes);
  if (class_of(code) == MPI_ERR_ARG) fail(call, "another process has called it with wrong arguments");
#ifndef OPEN_MPI
  // MPICH 4.0 keeps no texts for codes of predefined classes.
  if (code != MPI_SUCCESS)
    fail(call, "%ld bytes here, or the memory of another process, are not available", bytes);
#endif
  check_mpi(call, code);  // the text of the code names the rank that has no memory
  note(bases[rank], comm);
}

/// Leaves a failure to a later call, because the caller has another one to return.
void leave(mpixrma::Communicator& all, mpixrma::LateFailure const& late) {
  if (!mpixrma::engine::failed(late.error.status)) return;
  mpixrma::engine::LateError kept = late.error;
  kept.rank = late.rank;
  mpixrma::engine_of_process().failures.keep(all.context(), kept, late.process);
}

void release(char const* call, void* base, MPI_Comm comm) {
  mpixrma::Communicator& all = *running_world(call).communicator;
  static char never_allocated;
  // Before the memory is freed: afterwards, another thread may allocate memory at the same address.
  bool const known = base == nullptr || forget(base);
  // Before the memory is freed as well; a mode that is lost by a failure costs only speed.
  modes.forget(base, comm);
  // PMPIX_RMA_Free completes operations on `comm` alone; transfers are issued on the world's communicator.
  mpixrma::LateFailure late;
  (void)mpixrma::complete_all(all, &late);
  // Collective even if it fails: a wrong base at one process is an error at all of them.
  int const code = PMPIX_RMA_Free(known ? base : &never_allocated, comm);
  if (!known) {
    leave(all, late);
    fail(call, "%p was not allocated or was freed before", base);
  }
  if (class_of(code) == MPI_ERR_ARG) {
    leave(all, late);
    note(base, comm);
    fail(call, "another process has called it with a wrong address");
  }
  check_late_failure(call, late);
  if (code != MPI_SUCCESS) fail(call, "freeing %p failed here or at another process", base);
}

void free_all_memory() {
  for (auto const& [base, members] : allocations) (void)mpixrma::engine_of_process().memory.free(base);
  allocations.clear();
  allocated_by.clear();
  modes.clear();
}

}  // namespace armci

using namespace armci;

int PARMCI_Malloc(void** base_ptrs, armci_size_t size) {
  return return_code_of([&] {
    allocate("ARMCI_Malloc", base_ptrs, size, world.comm);
    return 0;
  });
}
int PARMCI_Free(void* ptr) {
  return return_code_of([&] {
    release("ARMCI_Free", ptr, world.comm);
    return 0;
  });
}
int ARMCI_Malloc_group(void** ptr_arr, armci_size_t bytes, ARMCI_Group* group) {
  return return_code_of([&] {
    allocate("ARMCI_Malloc_group", ptr_arr, bytes, comm_of("ARMCI_Malloc_group", group));
    return 0;
  });
}
int ARMCI_Free_group(void* ptr, ARMCI_Group* group) {
  return return_code_of([&] {
    release("ARMCI_Free_group", ptr, comm_of("ARMCI_Free_group", group));
    return 0;
  });
}
// The last argument, the memory device, is ignored.
int PARMCI_Malloc_memdev(void** ptr_arr, armci_size_t bytes, const char*) {
  return return_code_of([&] { return PARMCI_Malloc(ptr_arr, bytes); });
}
int PARMCI_Malloc_group_memdev(void** ptr_arr, armci_size_t bytes, ARMCI_Group* group, const char*) {
  return return_code_of([&] { return ARMCI_Malloc_group(ptr_arr, bytes, group); });
}
int PARMCI_Free_memdev(void* ptr) {
  return return_code_of([&] { return PARMCI_Free(ptr); });
}

// The local calls use the engine directly: MPIX_RMA_Allocate_local would call MPI's error handlers.
void* PARMCI_Malloc_local(armci_size_t size) {
  return abort_on_failure([&] {
    (void)running_world("ARMCI_Malloc_local");
    if (size < 0) fail("ARMCI_Malloc_local", "size %ld is negative", size);
    void* base = nullptr;
    if (size > 0)
      (void)mpixrma::engine_of_process().memory.allocate(static_cast<std::size_t>(size),
                                                         &base);  // null if there is no memory
    return base;
  });
}
int PARMCI_Free_local(void* ptr) {
  return return_code_of([&] {
    (void)running_world("ARMCI_Free_local");
    if (is_allocated(ptr)) fail("ARMCI_Free_local", "%p was allocated by ARMCI_Malloc", ptr);
    if (ptr != nullptr && mpixrma::engine::failed(mpixrma::engine_of_process().memory.free(ptr)))
      fail("ARMCI_Free_local", "%p was not allocated or was freed before", ptr);
    return 0;
  });
}

int ARMCIX_Mode_set(int mode, void* ptr, ARMCI_Group* group) {
  return return_code_of([&] {
    MPI_Comm const comm = comm_of("ARMCIX_Mode_set", group);
    modes.set(mode, ptr, is_allocated_by(ptr, comm), comm);
    return 0;
  });
}
int ARMCIX_Mode_get(void* ptr) {
  auto const address = reinterpret_cast<mpixrma::RemoteAddress>(ptr);
  return modes.get(world.rank, address, address + 1);
}

ARMCI_ALIAS(Malloc);
ARMCI_ALIAS(Free);
ARMCI_ALIAS(Malloc_memdev);
ARMCI_ALIAS(Malloc_group_memdev);
ARMCI_ALIAS(Free_memdev);
ARMCI_ALIAS(Malloc_local);
ARMCI_ALIAS(Free_local);
