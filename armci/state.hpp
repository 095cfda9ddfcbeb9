/// The library's state, and what every family of calls begins with.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "armci/barrier.hpp"
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
  mpix::Communicator* communicator = nullptr;
  int rank = -1;
  int size = 0;
  Barrier barrier;
};
extern World world;

/// A call that cannot be served. The text names the call, the argument and its value. Never leaves the
/// library.
struct Failure {
  char text[400];
};

/// Throws a Failure; printf-style.
[[noreturn]] void fail(char const* call, char const* format, ...) __attribute__((format(printf, 2, 3), cold));

/// The body of a function that returns an error code: 0, or `failed` after one line on stderr. The program
/// goes on.
void report(Failure const& failure) noexcept __attribute__((cold));
template <typename Body>
int returning(Body body, int failed = 1) noexcept {
  try {
    return body();
  } catch (Failure const& failure) {
    report(failure);
    return failed;
  }
}

/// The body of a function that has no error code: a failure ends the program through ARMCI_Error.
[[noreturn]] void end(Failure const& failure) noexcept __attribute__((cold));
template <typename Body>
auto ending(Body body) noexcept {
  try {
    return body();
  } catch (Failure const& failure) {
    end(failure);
  }
}

/// Steps that are all taken, whichever of them fail.
class Steps {
 public:
  template <typename Step>
  void take(Step step) {
    try {
      step();
    } catch (Failure const& failure) {
      if (!first_) first_ = failure;
    }
  }
  bool failed() const noexcept { return first_.has_value(); }
  /// Throws the first failure, if there was one.
  void check() const {
    if (first_) throw *first_;
  }

 private:
  std::optional<Failure> first_;
};

/// The world of a call that needs one, or a Failure.
[[noreturn]] void fail_not_running(char const* call) __attribute__((cold));
inline World& running_world(char const* call) {
  if (world.communicator == nullptr) [[unlikely]]
    fail_not_running(call);
  return world;
}

[[noreturn]] void fail_process(char const* call, int process) __attribute__((cold));

/// The target of process `process`, or a Failure.
inline mpix::Target& target_of(char const* call, int process) {
  mpix::Target* const target = world.communicator != nullptr ? world.communicator->target(process) : nullptr;
  if (target == nullptr) [[unlikely]]
    fail_process(call, process);
  return *target;
}

/// Throws a Failure when an operation failed.
inline void check(char const* call, mpix::engine::Status status) {
  if (mpix::engine::failed(status)) [[unlikely]]
    fail(call, "%s", to_string(status));
}

}  // namespace armci
