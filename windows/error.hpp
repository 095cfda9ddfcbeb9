/// The engine's outcomes as MPI's error classes, and what becomes of exceptions.
#pragma once

#include <mpi.h>

#include <new>
#include <string>

#include "engine/status.hpp"

namespace mpix::windows {

int class_of_failure(engine::Status status) noexcept;
inline int class_of(engine::Status status) noexcept {
  return engine::failed(status) ? class_of_failure(status) : MPI_SUCCESS;
}

/// The first of two outcomes of parts of a call that failed.
inline int first_of(int earlier, int later) noexcept { return earlier != MPI_SUCCESS ? earlier : later; }

/// Why this thread's newest window was refused; MPI_SUCCESS where nothing is to be said.
struct Refusal {
  int error_class = MPI_SUCCESS;
  std::string text;
};
Refusal& newest_refusal() noexcept;
/// Keeps the reason. The class.
int refuse(int error_class, std::string const& text);

/// For function-try blocks of functions that C calls.
int class_of_exception() noexcept;

}  // namespace mpix::windows
