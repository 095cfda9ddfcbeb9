/// MPI's own memory: allocates it so that windows of other processes on the host can access it by load and
/// store.
#include "engine/memory/allocation_hints.hpp"
#include "hosts/common/hosted.hpp"
#include "include/mpix_rma.h"
#include "mpix/error/error.hpp"
#include "mpix/error/exception.hpp"
#include "mpix/memory/user_allocations.hpp"
#include "mpix/runtime/process_engine.hpp"
#include "mpix/runtime/runtime.hpp"

using namespace mpixrma;

namespace {

/// Smaller allocations, and those with an info object, are left to MPI.
constexpr MPI_Aint min_bytes = 4096;

/// Returns memory whose pages are allocated at first touch; nullptr if none is available.
void* allocate_lazily(MPI_Aint size) {
  engine::AllocationHints hints;
  hints.lazy = true;  // as MPI's own allocation would be
  void* base = nullptr;
  auto& memory = engine_of_process().memory;
  if (engine::failed(memory.allocate(static_cast<std::size_t>(size), hints, &base))) return nullptr;
  if (user_allocations.add(base, Allocator::mpi)) return base;
  (void)memory.free(base);
  return nullptr;
}

/// Returns the call that frees memory of the library that MPI_Alloc_mem has not allocated.
char const* counterpart_of(void* base) {
  switch (user_allocations.allocator_of(base)) {
    case Allocator::collective: return "MPIX_RMA_Free";
    case Allocator::local: return "MPIX_RMA_Free_local";
    default: return "MPI_Win_free";
  }
}

/// Frees memory of MPI_Alloc_mem in MPI_Finalize, behind the end of the library: attributes of MPI_COMM_SELF
/// that are older than the library's are deleted then. Returns false for memory of MPI itself.
bool free_late(void* base) {
  if (base == nullptr || user_allocations.allocator_of(base) != Allocator::mpi ||
      !user_allocations.remove(base))
    return false;
  // Without an engine, or in a child of fork(), there is nothing to free.
  if (engine::Engine* const engine = is_forked() ? nullptr : hosted_engine()) (void)engine->memory.free(base);
  return true;
}

}  // namespace

extern "C" MPIX_RMA_API int MPI_Alloc_mem(MPI_Aint size, MPI_Info info, void* baseptr) try {
  bool const suits = size >= min_bytes && info == MPI_INFO_NULL && baseptr != nullptr;
  void* const base = suits && prepare() == Readiness::ready ? allocate_lazily(size) : nullptr;
  if (base == nullptr) return PMPI_Alloc_mem(size, info, baseptr);
  *static_cast<void**>(baseptr) = base;
  return MPI_SUCCESS;
} catch (...) {
  return raise_exception(nullptr);
}

extern "C" MPIX_RMA_API int MPI_Free_mem(void* base) try {
  bool const is_ready = base != nullptr && prepare() == Readiness::ready;
  if (!is_ready && free_late(base)) return MPI_SUCCESS;
  bool const is_ours = is_ready && engine_of_process().memory.is_allocated(base);
  if (!is_ours) return PMPI_Free_mem(base);
  bool const is_mpis = user_allocations.allocator_of(base) == Allocator::mpi;
  if (!is_mpis || !user_allocations.remove(base))
    return raise({"MPI_Free_mem"}, MPI_ERR_BASE, "base %p is not from MPI_Alloc_mem, %s frees it", base,
                 counterpart_of(base));
  (void)engine_of_process().memory.free(base);
  return MPI_SUCCESS;
} catch (...) {
  return raise_exception(nullptr);
}
