/// The engine's outcomes as MPI's error classes, and what becomes of exceptions.
#pragma once

#include <mpi.h>

#include <new>

#include "engine/status.hpp"

namespace mpix::windows {

int class_of_failure(engine::Status status) noexcept;
inline int class_of(engine::Status status) noexcept {
  return engine::failed(status) ? class_of_failure(status) : MPI_SUCCESS;
}

/// The first of two outcomes of parts of a call that failed.
inline int first_of(int earlier, int later) noexcept { return earlier != MPI_SUCCESS ? earlier : later; }

/// For function-try blocks of functions that C calls.
int class_of_exception() noexcept;

}  // namespace mpix::windows
