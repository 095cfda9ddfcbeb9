/// The library's state, and what every family of calls begins with.
#pragma once

#include <mpi.h>

#include "armci/barrier.hpp"
#include "armci/failure.hpp"
#include "include/armci/armci.h"
#include "mpix/comm/communicator.hpp"
#include "mpix/xfer/transfer.hpp"

/// Gives a PARMCI_ function, defined before in the same file, its weak ARMCI_ name, so that a tool can
/// put its own function in between.
#define ARMCI_ALIAS(name) \
  extern "C" decltype(ARMCI_##name) ARMCI_##name __attribute__((weak, alias("PARMCI_" #name)))

namespace armci {

/// Between ARMCI_Init and ARMCI_Finalize.
struct World {
  MPI_Comm comm = MPI_COMM_NULL;  ///< private duplicate of the communicator of initialisation
  mpixrma::Communicator* communicator = nullptr;
  int rank = -1;
  int size = 0;
  Barrier barrier;
};
extern World world;

/// The world of a call that needs one, or a Failure.
[[noreturn]] void fail_not_running(char const* call) __attribute__((cold));
inline World& running_world(char const* call) {
  if (world.communicator == nullptr) [[unlikely]]
    fail_not_running(call);
  return world;
}

[[noreturn]] void fail_process(char const* call, int process) __attribute__((cold));

/// The target of process `process`, or a Failure.
inline mpixrma::Target& target_of(char const* call, int process) {
  mpixrma::Target* const target = world.communicator != nullptr ? world.communicator->target(process) : nullptr;
  if (target == nullptr) [[unlikely]]
    fail_process(call, process);
  return *target;
}

/// target_of() where it takes a few instructions only; else nullptr.
inline mpixrma::Target* known_target(int process) noexcept {
  return world.communicator != nullptr ? world.communicator->known_target(process) : nullptr;
}

/// A range check alone, for calls that send nothing to `process`.
inline void check_process(char const* call, int process) {
  if (static_cast<unsigned>(process) >= static_cast<unsigned>(running_world(call).size)) [[unlikely]]
    fail_process(call, process);
}

/// Completes the operations of this process at every target. Throws a Failure that names a process where one
/// failed.
void complete_everywhere(char const* call);

void complete_messages_at(char const* call, mpixrma::Target& target);
/// The same for one target.
inline void complete_at(char const* call, int process) {
  mpixrma::Target& target = target_of(call, process);
  if (!mpixrma::complete_stores(target)) complete_messages_at(call, target);
}

}  // namespace armci
