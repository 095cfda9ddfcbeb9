/// The one place where failures become MPI error codes and meet error handlers.
#pragma once

#include <mpi.h>

#include "engine/status.hpp"

namespace mpix {

/// MPI error code for a failure of the engine.
int code_of(engine::Status status) noexcept;

/// Invokes the error handler of `comm` (MPI_COMM_WORLD's for MPI_COMM_NULL) with `code`; returns it.
int raise(MPI_Comm comm, int code);

/// For calls whose communicator argument gives no state: says why, through MPI_COMM_WORLD's handler, or
/// in one line on stderr where MPI is not running. `call` is the name of the function.
int raise_unusable(char const* call, MPI_Comm const* comm);

/// raise() for an engine status, MPI_SUCCESS for ok.
inline int result_of(MPI_Comm comm, engine::Status status) {
  return engine::failed(status) ? raise(comm, code_of(status)) : MPI_SUCCESS;
}

}  // namespace mpix
