/// The boundary that no exception crosses. A function that C or MPI calls, and that may throw, is a
/// function-try block that ends in one of these; functions of the hot path leave what may throw to one that
/// is.
#pragma once

#include <mpi.h>

#include "mpix/visibility.hpp"

namespace mpixrma {

/// Inside of a handler: MPI error class for the exception that is being handled. MPI_ERR_NO_MEM for memory
/// that cannot be had.
MPIX_WAIST_API int code_of_exception() noexcept;

/// The same as an error of `call`, through the error handler of `*communicator` if that is a live one, else
/// of MPI_COMM_WORLD.
int raise_exception(MPI_Comm const* communicator, char const* call = __builtin_FUNCTION()) noexcept;

}  // namespace mpixrma
