/// Conversion of failures to MPI error codes, and calls of the communicators' error handlers.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/base/status.hpp"
#include "engine/op/late_error.hpp"

namespace mpixrma {

/// The call that the application made, and the communicator whose error handler receives the error.
struct Site {
  char const* call;
  MPI_Comm comm = MPI_COMM_NULL;  ///< MPI_COMM_NULL: the handler of MPI_COMM_WORLD
};

/// The parts of an operation that its error text names.
struct Subject {
  int rank = MPI_PROC_NULL;
  std::uint64_t address = 0;      ///< 0: the text names no memory
  std::size_t bytes = 0;          ///< 0: the text names only the address
  std::uint64_t process = 0;      ///< engine's identity of the rank; set if `bytes` is not 0
  bool contiguous = true;         ///< whether the target memory is contiguous
  char const* missing = nullptr;  ///< text for a Status::bad_address that does not mean target memory
};

/// An error that has not been raised yet: an MPI error class, and a text that follows the name of the call.
struct Failure {
  int error_class = MPI_SUCCESS;
  std::string reason;
  explicit operator bool() const noexcept { return error_class != MPI_SUCCESS; }
};

__attribute__((cold, format(printf, 2, 3))) Failure failure(int error_class, char const* format, ...);
__attribute__((cold)) Failure failure(engine::Status status, Subject const& subject);

/// The first failed operation on a rank, of those that no request has reported.
struct LateFailure {
  int rank = MPI_PROC_NULL;   ///< MPI_PROC_NULL: unknown; `error` may name another rank
  std::uint64_t process = 0;  ///< engine's identity of the rank
  engine::LateError error;
  char const* ranks = "";  ///< text after `rank` that names its communicator, if not that of the call
};
__attribute__((cold)) Failure late_failure(LateFailure const& late);
/// Returns the failure of an operation whose request was freed, for EngineFailures::keep().
engine::LateError late_error_of(engine::Status status, Subject const& subject) noexcept;

/// Returns the MPI error class for a failure of the engine.
int class_of(engine::Status status) noexcept;

/// Returns an error code of the failure's class whose string is "call: reason". Does not invoke an error
/// handler.
__attribute__((cold)) int make_code(char const* call, Failure const& failure);

/// Invokes the error handler with a code of make_code() and returns the code. If the handler aborts the job,
/// first prints one line on stderr.
__attribute__((cold)) int raise(Site const& site, Failure const& failure);
__attribute__((cold, format(printf, 3, 4))) int raise(Site const& site, int error_class, char const* format,
                                                      ...);

/// Invokes the error handler of the site without printing a line.
__attribute__((cold)) int invoke_handler(Site const& site, Failure const& failure);
/// Prints one line on stderr without invoking an error handler.
__attribute__((cold)) void report(char const* call, Failure const& failure);

/// Raises the error of a rank argument that is not in a communicator of `size` processes.
__attribute__((cold)) int raise_rank(Site const& site, int rank, int size);

/// Raises the error of a call whose communicator argument has no state: through an error handler, or in one
/// line on stderr if MPI is not running. `comm` is the argument, null for a call without one.
__attribute__((cold)) int raise_unusable(char const* call, MPI_Comm const* comm);

/// As raise() for an engine status; returns MPI_SUCCESS for ok.
inline int result_of(Site const& site, engine::Status status, Subject const& subject) {
  return engine::failed(status) ? raise(site, failure(status, subject)) : MPI_SUCCESS;
}

}  // namespace mpixrma
