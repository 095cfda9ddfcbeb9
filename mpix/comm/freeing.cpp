#include "mpix/comm/freeing.hpp"

#include <dlfcn.h>

#include "include/mpix_rma.h"
#include "mpix/comm/communicator.hpp"
#include "mpix/error/exception.hpp"

namespace mpixrma {

namespace {

/// The innermost call of this thread that frees a communicator. Delete callbacks run in the calling thread.
thread_local Freeing* innermost = nullptr;

}  // namespace

Freeing::Freeing(MPI_Comm comm) : comm_(comm), next_(innermost) { innermost = this; }
Freeing::~Freeing() { innermost = next_; }

Freeing* Freeing::find(MPI_Comm comm) {
  Freeing* found = innermost;
  while (found != nullptr && found->comm_ != comm) found = found->next_;
  return found;
}

bool Freeing::keep(MPI_Comm comm, Communicator& state) {
  Freeing* const freeing = find(comm);
  if (freeing == nullptr) return false;
  Communicator::hide(state);
  freeing->state_ = &state;
  return true;
}

Communicator* Freeing::kept(MPI_Comm comm) {
  Freeing const* const freeing = find(comm);
  return freeing != nullptr ? freeing->state_ : nullptr;
}

int free_communicator(MPI_Comm* comm, int (*mpi_call)(MPI_Comm*)) try {
  if (comm == nullptr) return mpi_call(comm);
  Freeing const freeing(*comm);
  int const code = mpi_call(comm);
  if (Communicator* const state = freeing.state()) Communicator::give_back(*state);
  return code;
} catch (...) {
  return code_of_exception();
}

}  // namespace mpixrma

// Defined under the PMPI_ name, because the Fortran binding calls it. Weak, because a statically linked tool
// may define it too.
extern "C" MPIX_RMA_API __attribute__((weak)) int PMPI_Comm_free(MPI_Comm* comm) {
  static auto* const next = reinterpret_cast<decltype(&MPI_Comm_free)>(::dlsym(RTLD_NEXT, "PMPI_Comm_free"));
  return mpixrma::free_communicator(comm, next);
}
