/// MPI error codes whose strings describe the error of a call.
#pragma once

#include <mpi.h>

#include <string>

namespace mpixrma {

/// Returns an error code of `error_class` with this string. An existing code with the string is reused; else
/// a new one is created. Once the class has the maximum number of codes, the string of the least recently
/// used one is replaced instead, so that a program that continues after errors does not use up memory.
/// Returns the class itself after MPI_Finalize, or if MPI cannot create a code.
int code_for(int error_class, std::string const& text);

/// Returns whether `handler` is a predefined handler that aborts the job. Frees the handle.
inline bool ends_job_and_free(MPI_Errhandler handler) {
  bool ends = handler == MPI_ERRORS_ARE_FATAL;
#ifdef MPI_ERRORS_ABORT
  ends = ends || handler == MPI_ERRORS_ABORT;
#endif
  PMPI_Errhandler_free(&handler);
  return ends;
}

}  // namespace mpixrma
