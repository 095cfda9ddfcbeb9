/// The library's state, and the checks that begin each call.
#pragma once

#include <mpi.h>

#include "armci/barrier.hpp"
#include "armci/domains.hpp"
#include "armci/failure.hpp"
#include "include/armci/armci.h"
#include "mpix/comm/communicator.hpp"
#include "mpix/xfer/transfer.hpp"

/// Gives a PARMCI_ function, defined before in the same file, its weak ARMCI_ name, so that a tool can
/// interpose its own function.
#define ARMCI_ALIAS(name) \
  extern "C" decltype(ARMCI_##name) ARMCI_##name __attribute__((weak, alias("PARMCI_" #name)))

namespace armci {

/// The state between ARMCI_Init and ARMCI_Finalize.
struct World {
  MPI_Comm comm = MPI_COMM_NULL;  ///< private duplicate of the communicator that ARMCI was initialised with
  mpixrma::Communicator* communicator = nullptr;
  int rank = -1;
  int size = 0;
  Barrier barrier;
  Domains domains;
};
extern World world;

[[noreturn]] void fail_not_running(char const* call) __attribute__((cold));
/// Returns the world. Throws a Failure before ARMCI_Init and after ARMCI_Finalize.
inline World& running_world(char const* call) {
  if (world.communicator == nullptr) [[unlikely]]
    fail_not_running(call);
  return world;
}

/// Ends the job with an exit code; 0 is replaced by 1.
[[noreturn]] void end_program(int code) noexcept __attribute__((cold));

[[noreturn]] void fail_process(char const* call, int process) __attribute__((cold));

/// Returns the target of process `process`; throws a Failure if there is none.
inline mpixrma::Target& target_of(char const* call, int process) {
  mpixrma::Target* const target =
      world.communicator != nullptr ? world.communicator->target(process) : nullptr;
  if (target == nullptr) [[unlikely]]
    fail_process(call, process);
  return *target;
}

/// As target_of(), but returns nullptr outside of ARMCI, or if the look-up needs more than a few
/// instructions.
inline mpixrma::Target* known_target(int process) noexcept {
  return world.communicator != nullptr ? world.communicator->known_target(process) : nullptr;
}

/// Checks that `process` is a valid rank. Does not look up its target.
inline void check_process(char const* call, int process) {
  if (static_cast<unsigned>(process) >= static_cast<unsigned>(running_world(call).size)) [[unlikely]]
    fail_process(call, process);
}

/// Completes the operations of this process at every target. If one failed, throws a Failure that names the
/// target.
void complete_everywhere(char const* call);

/// As complete_at(), for a target with outstanding messages.
void complete_messages_at(char const* call, mpixrma::Target& target);
/// Completes the operations of this process at one target. Throws a Failure if one failed.
inline void complete_at(char const* call, int process) {
  mpixrma::Target& target = target_of(call, process);
  if (!mpixrma::complete_stores(target)) complete_messages_at(call, target);
}

}  // namespace armci
