/// Error codes whose strings say what was wrong with a call.
#pragma once

#include <mpi.h>

#include <string>

namespace mpixrma {

/// A code of `error_class` with this string: the one that has it, or else the one of the class that was used
/// least recently, of a fixed number, so that a program that goes on after errors does not use up memory.
/// The class itself when MPI has none to give.
int code_for(int error_class, std::string const& text);

/// Whether `handler` is one of those that MPI has for ending the job. Frees the handle.
inline bool ends_job_and_free(MPI_Errhandler handler) {
  bool ends = handler == MPI_ERRORS_ARE_FATAL;
#ifdef MPI_ERRORS_ABORT
  ends = ends || handler == MPI_ERRORS_ABORT;
#endif
  PMPI_Errhandler_free(&handler);
  return ends;
}

}  // namespace mpixrma
