/// Communicatable memory: allocation and registration (5.4).
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "include/mpix_rma.h"
#include "mpix/comm/collective.hpp"
#include "mpix/comm/communicator.hpp"
#include "mpix/error/error.hpp"
#include "mpix/error/exception.hpp"
#include "mpix/runtime/runtime.hpp"
#include "mpix/xfer/transfer.hpp"

namespace mpix {

namespace {

engine::Engine& the_engine() { return *engine::Engine::running(); }

/// For local calls: MPI_SUCCESS when the library can be used.
int usable(char const* call) {
  return prepare() == Readiness::ready ? MPI_SUCCESS : raise_unusable(call, nullptr);
}

/// Reads a key whose value is true or false. MPI error class.
int read_switch(MPI_Info info, char const* key, bool* wish) {
  char value[MPI_MAX_INFO_VAL + 1];
  int found = 0;
  MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found);
  if (found == 0) return MPI_SUCCESS;
  *wish = std::strcmp(value, "true") == 0;
  return *wish || std::strcmp(value, "false") == 0 ? MPI_SUCCESS : MPI_ERR_INFO_VALUE;
}

/// Reads the keys that an allocation knows. MPI error class.
int read_hints(MPI_Info info, engine::AllocationHints* hints) {
  if (info == MPI_INFO_NULL) return MPI_SUCCESS;
  char value[MPI_MAX_INFO_VAL + 1];
  int found = 0;
  MPI_Info_get(info, "mpi_minimum_memory_alignment", MPI_MAX_INFO_VAL, value, &found);
  if (found != 0) {
    char* end = nullptr;
    errno = 0;
    unsigned long const alignment = std::strtoul(value, &end, 10);
    bool const power = alignment != 0 && (alignment & (alignment - 1)) == 0;
    if (errno != 0 || *end != '\0' || !power || alignment > 1ul << 30) return MPI_ERR_INFO_VALUE;
    hints->alignment = alignment;
  }
  int const code = read_switch(info, "mpix_huge_pages", &hints->huge_pages);
  return code != MPI_SUCCESS ? code : read_switch(info, "mpix_lazy_memory", &hints->lazy);
}

/// `size` bytes, none for 0. MPI error class.
int allocate(MPI_Aint size, MPI_Info info, void** base) {
  engine::AllocationHints hints;
  if (size < 0) return MPI_ERR_ARG;
  if (int const code = read_hints(info, &hints); code != MPI_SUCCESS) return code;
  if (size == 0) return MPI_SUCCESS;
  return code_of(the_engine().allocate(static_cast<std::size_t>(size), hints, base));
}

}  // namespace
}  // namespace mpix

using mpix::engine::Status;

int MPIX_RMA_Allocate_local(MPI_Aint size, MPI_Info info, void** base) try {
  if (int const code = mpix::usable("MPIX_RMA_Allocate_local"); code != MPI_SUCCESS) return code;
  if (size <= 0 || base == nullptr) return mpix::raise(MPI_COMM_NULL, MPI_ERR_ARG);
  int const code = mpix::allocate(size, info, base);
  return code == MPI_SUCCESS ? code : mpix::raise(MPI_COMM_NULL, code);
} catch (...) {
  return mpix::raise_exception(nullptr);
}

int MPIX_RMA_Free_local(void* base) try {
  if (int const code = mpix::usable("MPIX_RMA_Free_local"); code != MPI_SUCCESS) return code;
  return mpix::result_of(MPI_COMM_NULL, mpix::the_engine().free(base));
} catch (...) {
  return mpix::raise_exception(nullptr);
}

int MPIX_RMA_Register(void* base, MPI_Aint size) try {
  if (int const code = mpix::usable("MPIX_RMA_Register"); code != MPI_SUCCESS) return code;
  if (size <= 0 || base == nullptr) return mpix::raise(MPI_COMM_NULL, MPI_ERR_ARG);
  return mpix::result_of(MPI_COMM_NULL, mpix::the_engine().attach(base, static_cast<std::size_t>(size)));
} catch (...) {
  return mpix::raise_exception(nullptr);
}

int MPIX_RMA_Deregister(void* base) try {
  if (int const code = mpix::usable("MPIX_RMA_Deregister"); code != MPI_SUCCESS) return code;
  return mpix::result_of(MPI_COMM_NULL, mpix::the_engine().detach(base));
} catch (...) {
  return mpix::raise_exception(nullptr);
}

int MPIX_RMA_Allocate(MPI_Aint size, MPI_Info info, MPI_Comm* communicator, void* bases[]) try {
  mpix::Communicator* const state =
      communicator != nullptr ? mpix::Communicator::find(*communicator) : nullptr;
  if (state == nullptr) return mpix::raise_unusable("MPIX_RMA_Allocate", communicator);
  MPI_Comm const comm = state->handle();
  int inter = 0;
  MPI_Comm_test_inter(comm, &inter);
  if (inter != 0) return mpix::raise(comm, MPI_ERR_COMM);
  void* base = nullptr;
  int code = bases == nullptr ? MPI_ERR_ARG : mpix::allocate(size, info, &base);
  // One exchange: a rank that failed shows it by an address that cannot be.
  auto const mine =
      code == MPI_SUCCESS ? reinterpret_cast<std::intptr_t>(base) : -static_cast<std::intptr_t>(code);
  std::vector<std::intptr_t> const all = mpix::exchange(comm, mine, state->size());
  for (std::intptr_t const shown : all) {
    if (shown < 0) code = static_cast<int>(-shown);
  }
  if (code != MPI_SUCCESS) {
    if (base != nullptr) (void)mpix::the_engine().free(base);
    return mpix::raise(comm, code);
  }
  for (std::size_t i = 0; i < all.size(); ++i) bases[i] = reinterpret_cast<void*>(all[i]);
  return MPI_SUCCESS;
} catch (...) {
  return mpix::raise_exception(communicator);
}

int MPIX_RMA_Free(void* base, MPI_Comm* communicator) try {
  mpix::Communicator* const state =
      communicator != nullptr ? mpix::Communicator::find(*communicator) : nullptr;
  if (state == nullptr) return mpix::raise_unusable("MPIX_RMA_Free", communicator);
  MPI_Comm const comm = state->handle();
  // Before anything changes: all can call again with the right base.
  bool const right = base == nullptr || mpix::the_engine().is_allocated(base);
  if (int const refused = mpix::agree(comm, right ? MPI_SUCCESS : MPI_ERR_ARG); refused != MPI_SUCCESS)
    return mpix::raise(comm, refused);
  int code = mpix::code_of(mpix::complete_all(*state));
  PMPI_Barrier(comm);  // nobody's operations are on their way any more
  if (base != nullptr) {
    int const freed = mpix::code_of(mpix::the_engine().free(base));
    if (code == MPI_SUCCESS) code = freed;
  }
  code = mpix::agree(comm, code);
  mpix::the_engine().drop_stale_mappings();
  return code == MPI_SUCCESS ? MPI_SUCCESS : mpix::raise(comm, code);
} catch (...) {
  return mpix::raise_exception(communicator);
}

int MPIX_RMA_Query(MPI_Comm* communicator, int target_rank, void* target_addr, int* flag, void** base,
                   MPI_Aint* size) try {
  mpix::Communicator* const state =
      communicator != nullptr ? mpix::Communicator::find(*communicator) : nullptr;
  if (state == nullptr) return mpix::raise_unusable("MPIX_RMA_Query", communicator);
  MPI_Comm const comm = state->handle();
  if (target_rank < 0 || target_rank >= state->size()) return mpix::raise(comm, MPI_ERR_RANK);
  if (flag == nullptr) return mpix::raise(comm, MPI_ERR_ARG);
  mpix::Target* const target = state->target(target_rank);
  if (target == nullptr) return mpix::raise(comm, mpix::keys().transport_class);
  mpix::engine::SegmentInfo info{};
  auto const address = reinterpret_cast<mpix::RemoteAddress>(target_addr);
  Status const status = mpix::the_engine().find_segment(*target->peer, address, &info);
  if (mpix::engine::failed(status) && status != Status::bad_address)
    return mpix::raise(comm, mpix::code_of(status));
  *flag = status == Status::ok ? 1 : 0;
  if (*flag == 0) return MPI_SUCCESS;
  if (base != nullptr) *base = reinterpret_cast<void*>(info.base);
  if (size != nullptr) *size = static_cast<MPI_Aint>(info.length);
  return MPI_SUCCESS;
} catch (...) {
  return mpix::raise_exception(communicator);
}
