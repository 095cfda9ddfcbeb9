#include "mpix/comm/freeing.hpp"

#include <dlfcn.h>

#include "datatype/handle.hpp"
#include "include/mpix_rma.h"
#include "mpix/comm/communicator.hpp"
#include "mpix/error/exception.hpp"
#include "mpix/runtime/process_engine.hpp"

namespace mpixrma {

namespace {

enum class Mark { freed, in_use };

/// Makes later calls find out that the communicator is freed, also while MPI keeps it for its requests.
void mark(MPI_Comm comm, Mark mark) {
  if (hosted_engine() == nullptr || host().communicator_set_freed == nullptr) return;
  host().communicator_set_freed(word_of(comm), mark == Mark::freed ? 1 : 0);
}

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
  MPI_Comm const freed = *comm;
  Freeing const freeing(freed);
  // Before the call: afterwards the handle may be that of a new communicator.
  mark(freed, Mark::freed);
  int const code = mpi_call(comm);
  if (code != MPI_SUCCESS) mark(freed, Mark::in_use);
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
