/// The boundary that no exception crosses. A function that C or MPI calls and that may throw is a
/// function-try block that ends in one of these calls; functions of the hot path delegate throwing code to
/// such a function.
#pragma once

#include <mpi.h>

#include "mpix/runtime/visibility.hpp"

namespace mpixrma {

/// Returns the MPI error class of the exception being handled: MPI_ERR_NO_MEM for std::bad_alloc. Call it in
/// a catch block.
MPIX_INTERNAL_API int code_of_exception() noexcept;

/// Raises the exception being handled as an error of `call`, through the error handler of `*communicator` if
/// it is live, else of MPI_COMM_WORLD.
int raise_exception(MPI_Comm const* communicator, char const* call = __builtin_FUNCTION()) noexcept;

}  // namespace mpixrma
