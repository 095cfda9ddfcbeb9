#include "mpix/comm/freeing.hpp"

#include <dlfcn.h>

#include "datatype/handle.hpp"
#include "include/mpix_rma.h"
#include "mpix/comm/communicator.hpp"
#include "mpix/error/exception.hpp"
#include "mpix/runtime/process_engine.hpp"
#include "mpix/runtime/runtime.hpp"

namespace mpixrma {

namespace {

enum class Mark { freed, in_use };

/// Marks the communicator, so that later calls reject a freed one even while MPI keeps it for its requests.
void mark(MPI_Comm comm, Mark mark) {
  if (hosted_engine() == nullptr || host().communicator_set_freed == nullptr) return;
  host().communicator_set_freed(word_of(comm), mark == Mark::freed ? 1 : 0);
}

/// A notified operation that arrives after this process has freed its counters would increment other memory.
/// So every process completes its operations, and all synchronise, before any of them frees its counters: the
/// calls that free a communicator are collective.
void quiesce_counters(MPI_Comm comm) {
  bool const is_predefined = comm == MPI_COMM_NULL || comm == MPI_COMM_WORLD || comm == MPI_COMM_SELF;
  if (is_predefined || hosted_engine() == nullptr || !hosted_engine()->is_of_this_process()) return;
  if (host().communicator_is_live(word_of(comm)) == 0) return;
  Communicator* const state = Communicator::find_existing(comm);
  if (state == nullptr || !state->counters().are_known()) return;
  state->counters().close();
  state->for_each_target(
      [](Target& target) { hosted_engine()->order.complete(*target.peer, target.outstanding.get()); });
  if (PMPI_Barrier(comm) != MPI_SUCCESS) state->counters().abandon();
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
  quiesce_counters(freed);
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
