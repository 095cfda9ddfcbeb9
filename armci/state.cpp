#include "armci/state.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "mpix/runtime/runtime.hpp"

namespace armci {

World world;

void fail_not_running(char const* call) {
  if (mpixrma::is_forked()) fail(call, "called in a child process made by fork()");
  fail(call, "called before ARMCI_Init or after ARMCI_Finalize");
}

void end_program(int code) noexcept {
  int const nonzero = (code & 0xff) != 0 ? code : 1;  // the system passes on the lowest 8 bits
  int running = 0;
  int finalized = 0;
  MPI_Initialized(&running);
  MPI_Finalized(&finalized);
  // In a child made by fork(), MPI belongs to the parent. The launcher ends the job because of the exit code.
  if (running != 0 && finalized == 0 && !mpixrma::is_forked())
    MPI_Abort(world.comm != MPI_COMM_NULL ? world.comm : MPI_COMM_WORLD, nonzero);
  if (!mpixrma::is_forked()) std::fflush(nullptr);  // a child would write its parent's data once more
  ::_exit(nonzero);
}

void fail_process(char const* call, int process) {
  int const size = running_world(call).size;
  if (process < 0 || process >= size) fail(call, "process %d is not in 0..%d", process, size - 1);
  fail(call, "process %d cannot be reached", process);
}

void complete_everywhere(char const* call) {
  mpixrma::LateFailure late;
  (void)mpixrma::complete_all(*running_world(call).communicator, &late);
  check_late_failure(call, late);
}

void complete_messages_at(char const* call, mpixrma::Target& target) {
  mpixrma::LateFailure late;
  (void)mpixrma::complete_messages(target, &late);
  check_late_failure(call, late);
}

}  // namespace armci
