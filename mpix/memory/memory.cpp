/// Communicatable memory: allocation and registration (5.4 of the proposal).
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "include/mpix_rma.h"
#include "mpix/comm/collective.hpp"
#include "mpix/comm/communicator.hpp"
#include "mpix/error/error.hpp"
#include "mpix/error/exception.hpp"
#include "mpix/memory/same_address.hpp"
#include "mpix/memory/user_allocations.hpp"
#include "mpix/runtime/process_engine.hpp"
#include "mpix/runtime/profiling.hpp"
#include "mpix/runtime/runtime.hpp"
#include "mpix/xfer/transfer.hpp"

MPIX_PROFILED(MPIX_RMA_Allocate_local)
MPIX_PROFILED(MPIX_RMA_Free_local)
MPIX_PROFILED(MPIX_RMA_Register)
MPIX_PROFILED(MPIX_RMA_Deregister)
MPIX_PROFILED(MPIX_RMA_Allocate)
MPIX_PROFILED(MPIX_RMA_Free)
MPIX_PROFILED(MPIX_RMA_Query)
MPIX_PROFILED(MPIX_RMA_Segments)

namespace mpixrma {

namespace {

using engine::Status;

constexpr char not_allocated[] = "base %p was not allocated or was freed before";

/// Undoes allocate().
Status free_user_allocation(void* base) {
  return user_allocations.remove(base) ? engine_of_process().memory.free(base) : Status::bad_argument;
}

/// Raises the error of a local call if the library cannot be used. Returns an MPI error code.
int check_usable(char const* call) {
  return prepare() == Readiness::ready ? MPI_SUCCESS : raise_unusable(call, nullptr);
}

/// Reads a key whose value is true or false.
Failure read_switch(MPI_Info info, char const* key, bool* wish) {
  char value[MPI_MAX_INFO_VAL + 1];
  int found = 0;
  MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found);
  if (found == 0) return {};
  *wish = std::strcmp(value, "true") == 0;
  if (*wish || std::strcmp(value, "false") == 0) return {};
  return failure(MPI_ERR_INFO_VALUE, "%s \"%.40s\" is neither true nor false", key, value);
}

/// Reads the info keys of a registration.
Failure read_access(MPI_Info info, engine::PeerAccess* access) {
  if (info == MPI_INFO_NULL) return {};
  char value[MPI_MAX_INFO_VAL + 1];
  int found = 0;
  MPI_Info_get(info, "mpix_access", MPI_MAX_INFO_VAL, value, &found);
  if (found == 0) return {};
  bool const writes = std::strcmp(value, "readwrite") == 0;
  if (!writes && std::strcmp(value, "read") != 0)
    return failure(MPI_ERR_INFO_VALUE, "mpix_access \"%.40s\" is neither read nor readwrite", value);
  *access = writes ? engine::PeerAccess::write : engine::PeerAccess::read;
  return {};
}

/// Reads the info keys of an allocation at one process.
Failure read_hints(MPI_Info info, engine::AllocationHints* hints) {
  if (info == MPI_INFO_NULL) return {};
  char value[MPI_MAX_INFO_VAL + 1];
  int found = 0;
  MPI_Info_get(info, "mpi_minimum_memory_alignment", MPI_MAX_INFO_VAL, value, &found);
  if (found != 0) {
    char* end = nullptr;
    errno = 0;
    unsigned long const alignment = std::strtoul(value, &end, 10);
    bool const power = alignment != 0 && (alignment & (alignment - 1)) == 0;
    if (errno != 0 || *end != '\0' || !power || alignment > 1ul << 30)
      return failure(MPI_ERR_INFO_VALUE,
                     "mpi_minimum_memory_alignment \"%.40s\" is not a power of two up to 1 GiB", value);
    hints->alignment = alignment;
  }
  if (Failure wrong = read_switch(info, "mpix_huge_pages", &hints->huge_pages)) return wrong;
  return read_switch(info, "mpix_lazy_memory", &hints->lazy);
}

/// Returns an error if `base` cannot be freed by the counterpart of `allocator`.
Failure wrong_to_free(void* base, Allocator allocator) {
  Allocator const found = user_allocations.allocator_of(base);
  if (found == allocator) return {};
  switch (found) {
    case Allocator::collective:
      return failure(MPI_ERR_ARG, "base %p is from MPIX_RMA_Allocate, MPIX_RMA_Free frees it", base);
    case Allocator::local:
      return failure(MPI_ERR_ARG, "base %p is from MPIX_RMA_Allocate_local, MPIX_RMA_Free_local frees it",
                     base);
    case Allocator::mpi:
      return failure(MPI_ERR_ARG, "base %p is from MPI_Alloc_mem, MPI_Free_mem frees it", base);
    default: return failure(MPI_ERR_ARG, not_allocated, base);
  }
}

/// Checks the arguments of an allocation.
Failure read_request(MPI_Aint size, MPI_Info info, engine::AllocationHints* hints) {
  if (size < 0) return failure(MPI_ERR_ARG, "size %lld is negative", static_cast<long long>(size));
  return read_hints(info, hints);
}

/// Allocates `size` bytes. Leaves `*base` unchanged if `size` is 0.
Failure allocate(MPI_Aint size, engine::AllocationHints const& hints, Allocator allocator, void** base) {
  if (size == 0) return {};
  Status status = engine_of_process().memory.allocate(static_cast<std::size_t>(size), hints, base);
  if (!engine::failed(status) && !user_allocations.add(*base, allocator)) {
    (void)engine_of_process().memory.free(*base);
    status = Status::out_of_memory;
  }
  if (!engine::failed(status)) return {};
  if (status == Status::bad_address)
    return failure(MPI_ERR_NO_MEM, "other memory was mapped at %p", reinterpret_cast<void*>(hints.address));
  return failure(class_of(status), "%lld bytes cannot be allocated: %s", static_cast<long long>(size),
                 engine::to_string(status));
}

/// Exchanges the addresses; a rank that failed sends its error class, negated, instead.
std::vector<std::intptr_t> exchange_bases(MPI_Comm comm, void* base, int error_class) {
  auto const shown = error_class == MPI_SUCCESS ? reinterpret_cast<std::intptr_t>(base)
                                                : -static_cast<std::intptr_t>(wire_class(error_class));
  return exchange(comm, shown, size_of(comm));
}

/// An allocation of all ranks of a communicator.
struct CollectiveAllocation {
  void* own = nullptr;
  Failure failed;                    ///< why this rank failed
  std::vector<std::intptr_t> bases;  ///< as returned by exchange_bases()
};

/// Sent instead of a base by a rank that waits for an address at which all ranks allocate.
constexpr std::intptr_t needs_common_address = 1;

/// The second step of allocate_together(), for memory at one address.
void allocate_at_one_address(MPI_Comm comm, MPI_Aint size, engine::AllocationHints hints,
                             CollectiveAllocation* made) {
  hints.address = agree_on_address(comm, {static_cast<std::size_t>(size), hints.alignment});
  made->failed = hints.address != 0
                     ? allocate(size, hints, Allocator::collective, &made->own)
                     : failure(MPI_ERR_NO_MEM, "no common addresses for %lld bytes are unused at all ranks",
                               static_cast<long long>(size));
  made->bases = exchange_bases(comm, made->own, made->failed.error_class);
}

/// Collective. `failed` is the error that the caller has found in the arguments, if any.
CollectiveAllocation allocate_together(MPI_Comm comm, MPI_Aint size, MPI_Info info, Failure failed) {
  CollectiveAllocation made{nullptr, std::move(failed), {}};
  engine::AllocationHints hints;
  bool same_address = false;
  if (!made.failed) made.failed = read_request(size, info, &hints);
  if (!made.failed && info != MPI_INFO_NULL)
    made.failed = read_switch(info, "mpix_same_address", &same_address);
  if (!made.failed && !same_address) made.failed = allocate(size, hints, Allocator::collective, &made.own);
  void* const shown = same_address ? reinterpret_cast<void*>(needs_common_address) : made.own;
  made.bases = exchange_bases(comm, shown, made.failed.error_class);
  auto const waiting = std::ranges::count(made.bases, needs_common_address);
  if (waiting == std::ssize(made.bases)) {
    allocate_at_one_address(comm, size, hints, &made);
  } else if (waiting != 0 && std::ranges::none_of(made.bases, [](std::intptr_t at) { return at < 0; })) {
    made.failed = failure(MPI_ERR_INFO_VALUE, "mpix_same_address is not the same at all ranks");
    // Every rank detects the mismatch, so no further exchange is needed.
    std::ranges::fill(made.bases, -static_cast<std::intptr_t>(wire_class(MPI_ERR_INFO_VALUE)));
  }
  return made;
}

}  // namespace
}  // namespace mpixrma

using mpixrma::engine::Status;

int MPIX_RMA_Allocate_local(MPI_Aint size, MPI_Info info, void** base) try {
  using namespace mpixrma;
  Site const site{"MPIX_RMA_Allocate_local"};
  if (int const code = check_usable(site.call); code != MPI_SUCCESS) return code;
  if (base == nullptr) return raise(site, MPI_ERR_ARG, "base is a null pointer");
  if (size == 0) return raise(site, MPI_ERR_ARG, "size is 0");
  engine::AllocationHints hints;
  Failure failed = read_request(size, info, &hints);
  if (!failed) failed = allocate(size, hints, Allocator::local, base);
  return failed ? raise(site, failed) : MPI_SUCCESS;
} catch (...) {
  return mpixrma::raise_exception(nullptr);
}

int MPIX_RMA_Free_local(void* base) try {
  using namespace mpixrma;
  Site const site{"MPIX_RMA_Free_local"};
  if (int const code = check_usable(site.call); code != MPI_SUCCESS) return code;
  if (Failure const wrong = wrong_to_free(base, Allocator::local)) return raise(site, wrong);
  Status const status = free_user_allocation(base);
  return engine::failed(status) ? raise(site, class_of(status), not_allocated, base) : MPI_SUCCESS;
} catch (...) {
  return mpixrma::raise_exception(nullptr);
}

int MPIX_RMA_Register(void const* base, MPI_Aint size, MPI_Info info) try {
  using namespace mpixrma;
  Site const site{"MPIX_RMA_Register"};
  if (int const code = check_usable(site.call); code != MPI_SUCCESS) return code;
  auto const bytes = static_cast<long long>(size);
  if (base == nullptr) return raise(site, MPI_ERR_ARG, "base is a null pointer");
  if (size <= 0) return raise(site, MPI_ERR_ARG, "size %lld is not positive", bytes);
  auto access = engine::PeerAccess::as_permitted;
  if (Failure const wrong = read_access(info, &access)) return raise(site, wrong);
  switch (Status const status = engine_of_process().memory.attach(
              const_cast<void*>(base), static_cast<std::size_t>(size), access, engine::Registrar::program)) {
    case Status::ok: return MPI_SUCCESS;
    case Status::bad_argument:
      return raise(site, MPI_ERR_ARG, "%lld bytes at %p extend beyond the end of an allocation", bytes, base);
    case Status::bad_address:
      return raise(site, class_of(status), "%lld bytes at %p are not all mapped", bytes, base);
    case Status::not_writable:
      return raise(site, class_of(status), "%lld bytes at %p are not all writable", bytes, base);
    default:
      return raise(site, class_of(status), "%lld bytes at %p: %s", bytes, base, engine::to_string(status));
  }
} catch (...) {
  return mpixrma::raise_exception(nullptr);
}

int MPIX_RMA_Deregister(void const* base, MPI_Aint size) try {
  using namespace mpixrma;
  Site const site{"MPIX_RMA_Deregister"};
  if (int const code = check_usable(site.call); code != MPI_SUCCESS) return code;
  auto const bytes = static_cast<long long>(size);
  if (size <= 0) return raise(site, MPI_ERR_ARG, "size %lld is not positive", bytes);
  Status const status = engine_of_process().memory.detach(
      const_cast<void*>(base), static_cast<std::size_t>(size), engine::Registrar::program);
  if (!engine::failed(status)) return MPI_SUCCESS;
  return raise(site, class_of(status), "%lld bytes at %p are not registered", bytes, base);
} catch (...) {
  return mpixrma::raise_exception(nullptr);
}

int MPIX_RMA_Allocate(MPI_Aint size, MPI_Info info, MPI_Comm communicator, void** base, void* bases[]) try {
  using namespace mpixrma;
  open_engine();
  Communicator* const state = Communicator::find(communicator);
  char const* const call = "MPIX_RMA_Allocate";
  if (state == nullptr)
    return raise_unusable_together(call, &communicator, [](MPI_Comm comm) {
      if (!is_intercommunicator(comm)) (void)exchange_bases(comm, nullptr, no_engine_class);
    });
  Site const site{call, state->handle()};
  if (is_intercommunicator(site.comm))
    return raise(site, MPI_ERR_COMM, "communicator is an intercommunicator");
  bool const returns_nothing = base == nullptr && bases == nullptr;
  auto const [own, failed, all] = allocate_together(
      site.comm, size, info,
      returns_nothing ? failure(MPI_ERR_ARG, "base and bases are null pointers") : Failure{});
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] >= 0) continue;
    if (own != nullptr) (void)free_user_allocation(own);
    return raise_agreed(site, failed, verdict_of(static_cast<int>(-all[i]), static_cast<int>(i)));
  }
  if (base != nullptr) *base = own;
  for (std::size_t i = 0; bases != nullptr && i < all.size(); ++i) bases[i] = reinterpret_cast<void*>(all[i]);
  return MPI_SUCCESS;
} catch (...) {
  return mpixrma::raise_exception(&communicator);
}

int MPIX_RMA_Free(void* base, MPI_Comm communicator) try {
  using namespace mpixrma;
  Communicator* const state = Communicator::find(communicator);
  char const* const call = "MPIX_RMA_Free";
  if (state == nullptr)
    return raise_unusable_together(call, &communicator,
                                   [](MPI_Comm comm) { (void)agree_on_class(comm, no_engine_class); });
  Site const site{call, state->handle()};
  if (is_intercommunicator(site.comm))
    return raise(site, MPI_ERR_COMM, "communicator is an intercommunicator");
  // Nothing has changed yet: after this error all processes can repeat the call with the right base.
  Failure failed = base != nullptr ? wrong_to_free(base, Allocator::collective) : Failure{};
  int const refused = raise_agreed(site, failed, agree_on_class(site.comm, failed.error_class));
  if (refused != MPI_SUCCESS) return refused;
  LateFailure late;
  (void)complete_all(*state, &late);
  failed = late_failure(late);
  PMPI_Barrier(site.comm);  // afterwards no operation through the communicator is in flight
  if (base != nullptr) {
    Status const freed = free_user_allocation(base);
    if (engine::failed(freed) && !failed) failed = failure(class_of(freed), not_allocated, base);
  }
  Verdict const verdict = agree_on_class(site.comm, failed.error_class);
  engine_of_process().peer_memory.drop_stale_mappings();
  return raise_agreed(site, failed, verdict);
} catch (...) {
  return mpixrma::raise_exception(&communicator);
}

int MPIX_RMA_Segments(MPI_Comm communicator, int target_rank, int max, MPIX_RMA_Segment segments[],
                      int* count) try {
  using namespace mpixrma;
  Communicator* const state = Communicator::find(communicator);
  if (state == nullptr) return raise_unusable("MPIX_RMA_Segments", &communicator);
  Site const site{"MPIX_RMA_Segments", state->handle()};
  if (target_rank < 0 || target_rank >= state->size()) return raise_rank(site, target_rank, state->size());
  if (max < 0) return raise(site, MPI_ERR_COUNT, "max %d is negative", max);
  if (segments == nullptr && max != 0) return raise(site, MPI_ERR_ARG, "segments is a null pointer");
  if (count == nullptr) return raise(site, MPI_ERR_ARG, "count is a null pointer");
  Target* const target = state->target(target_rank);
  if (target == nullptr) return raise(site, failure(Status::unreachable, {target_rank}));
  std::vector<engine::SegmentInfo> found;
  Status const status = engine_of_process().peer_memory.list_segments(*target->peer, &found);
  if (engine::failed(status)) return raise(site, failure(status, {target_rank}));
  std::erase_if(found, [](engine::SegmentInfo const& segment) { return segment.internal; });
  *count = static_cast<int>(found.size());
  for (std::size_t i = 0; i < std::min(found.size(), static_cast<std::size_t>(max)); ++i)
    segments[i] = {reinterpret_cast<void*>(found[i].base), static_cast<MPI_Aint>(found[i].length)};
  return MPI_SUCCESS;
} catch (...) {
  return mpixrma::raise_exception(&communicator);
}

int MPIX_RMA_Query(MPI_Comm communicator, int target_rank, void const* target_addr, int* flag, void** base,
                   MPI_Aint* size) try {
  using namespace mpixrma;
  Communicator* const state = Communicator::find(communicator);
  if (state == nullptr) return raise_unusable("MPIX_RMA_Query", &communicator);
  Site const site{"MPIX_RMA_Query", state->handle()};
  if (target_rank < 0 || target_rank >= state->size()) return raise_rank(site, target_rank, state->size());
  if (flag == nullptr) return raise(site, MPI_ERR_ARG, "flag is a null pointer");
  Target* const target = state->target(target_rank);
  if (target == nullptr) return raise(site, failure(Status::unreachable, {target_rank}));
  engine::SegmentInfo info{};
  auto const address = reinterpret_cast<RemoteAddress>(target_addr);
  Status const status = engine_of_process().peer_memory.find_segment(*target->peer, address, &info);
  if (engine::failed(status) && status != Status::bad_address)
    return raise(site, failure(status, {target_rank, address}));
  *flag = status == Status::ok && !info.internal ? 1 : 0;
  if (*flag == 0) return MPI_SUCCESS;
  if (base != nullptr) *base = reinterpret_cast<void*>(info.base);
  if (size != nullptr) *size = static_cast<MPI_Aint>(info.length);
  return MPI_SUCCESS;
} catch (...) {
  return mpixrma::raise_exception(&communicator);
}
