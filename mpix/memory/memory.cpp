/// Communicatable memory: allocation and registration (5.4).
#include <vector>

#include "include/mpix_rma.h"
#include "mpix/comm/communicator.hpp"
#include "mpix/error/error.hpp"
#include "mpix/runtime/runtime.hpp"
#include "mpix/xfer/transfer.hpp"

namespace mpix {

namespace {

engine::Engine& the_engine() { return *engine::Engine::running(); }

/// For local calls: MPI_SUCCESS when the library can be used.
int usable(char const* call) {
  return prepare() == Readiness::ready ? MPI_SUCCESS : raise_unusable(call, nullptr);
}

/// The largest code of all ranks, so that all of them see a failure.
int agree(MPI_Comm comm, int code) {
  int worst = code;
  PMPI_Allreduce(&code, &worst, 1, MPI_INT, MPI_MAX, comm);
  return worst;
}

}  // namespace
}  // namespace mpix

using mpix::engine::Status;

int MPIX_RMA_Allocate_local(MPI_Aint size, MPI_Info, void** base) {
  if (int const code = mpix::usable("MPIX_RMA_Allocate_local"); code != MPI_SUCCESS) return code;
  if (size <= 0 || base == nullptr) return mpix::raise(MPI_COMM_NULL, MPI_ERR_ARG);
  return mpix::result_of(MPI_COMM_NULL, mpix::the_engine().allocate(static_cast<std::size_t>(size), base));
}

int MPIX_RMA_Free_local(void* base) {
  if (int const code = mpix::usable("MPIX_RMA_Free_local"); code != MPI_SUCCESS) return code;
  return mpix::result_of(MPI_COMM_NULL, mpix::the_engine().free(base));
}

int MPIX_RMA_Register(void* base, MPI_Aint size) {
  if (int const code = mpix::usable("MPIX_RMA_Register"); code != MPI_SUCCESS) return code;
  if (size <= 0 || base == nullptr) return mpix::raise(MPI_COMM_NULL, MPI_ERR_ARG);
  return mpix::result_of(MPI_COMM_NULL, mpix::the_engine().attach(base, static_cast<std::size_t>(size)));
}

int MPIX_RMA_Deregister(void* base) {
  if (int const code = mpix::usable("MPIX_RMA_Deregister"); code != MPI_SUCCESS) return code;
  return mpix::result_of(MPI_COMM_NULL, mpix::the_engine().detach(base));
}

int MPIX_RMA_Allocate(MPI_Aint size, MPI_Info, MPI_Comm* communicator, void* bases[]) {
  mpix::Communicator* const state =
      communicator != nullptr ? mpix::Communicator::find(*communicator) : nullptr;
  if (state == nullptr) return mpix::raise_unusable("MPIX_RMA_Allocate", communicator);
  MPI_Comm const comm = state->handle();
  int inter = 0;
  MPI_Comm_test_inter(comm, &inter);
  if (inter != 0) return mpix::raise(comm, MPI_ERR_COMM);
  void* base = nullptr;
  int code = MPI_SUCCESS;
  if (size < 0 || bases == nullptr) {
    code = MPI_ERR_ARG;
  } else if (size > 0) {
    code = mpix::code_of(mpix::the_engine().allocate(static_cast<std::size_t>(size), &base));
  }
  // One exchange: a rank that failed shows it by an address that cannot be.
  auto const mine =
      code == MPI_SUCCESS ? reinterpret_cast<std::intptr_t>(base) : -static_cast<std::intptr_t>(code);
  std::vector<std::intptr_t> all(static_cast<std::size_t>(state->size()));
  PMPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, comm);
  for (std::intptr_t const shown : all) {
    if (shown < 0) code = static_cast<int>(-shown);
  }
  if (code != MPI_SUCCESS) {
    if (base != nullptr) (void)mpix::the_engine().free(base);
    return mpix::raise(comm, code);
  }
  for (std::size_t i = 0; i < all.size(); ++i) bases[i] = reinterpret_cast<void*>(all[i]);
  return MPI_SUCCESS;
}

int MPIX_RMA_Free(void* base, MPI_Comm* communicator) {
  mpix::Communicator* const state =
      communicator != nullptr ? mpix::Communicator::find(*communicator) : nullptr;
  if (state == nullptr) return mpix::raise_unusable("MPIX_RMA_Free", communicator);
  MPI_Comm const comm = state->handle();
  int code = mpix::code_of(mpix::complete_all(*state));
  PMPI_Barrier(comm);  // nobody's operations are on their way any more
  if (base != nullptr) {
    int const freed = mpix::code_of(mpix::the_engine().free(base));
    if (code == MPI_SUCCESS) code = freed;
  }
  code = mpix::agree(comm, code);
  mpix::the_engine().drop_stale_mappings();
  return code == MPI_SUCCESS ? MPI_SUCCESS : mpix::raise(comm, code);
}
