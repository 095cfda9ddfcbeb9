#include "armci/state.hpp"

#include "mpix/runtime/runtime.hpp"

namespace armci {

World world;

void fail_not_running(char const* call) {
  if (mpixrma::is_forked()) fail(call, "called in a child process made by fork()");
  fail(call, "called before ARMCI_Init or after ARMCI_Finalize");
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
