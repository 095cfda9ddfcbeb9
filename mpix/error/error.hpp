/// The one place where failures become MPI error codes and meet error handlers.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/base/status.hpp"
#include "engine/op/late_error.hpp"

namespace mpixrma {

/// Where an error is told: the call that the application made, and the communicator whose handler gets it.
struct Site {
  char const* call;
  MPI_Comm comm = MPI_COMM_NULL;  ///< MPI_COMM_NULL: MPI_COMM_WORLD's handler
};

/// What an operation was about, for the text of its error.
struct Subject {
  int rank = MPI_PROC_NULL;
  std::uint64_t address = 0;  ///< not 0: `process` and what follows are set
  std::size_t bytes = 0;
  std::uint64_t process = 0;      ///< of the rank, at the engine
  bool contiguous = true;         ///< the target memory
  char const* missing = nullptr;  ///< what Status::bad_address means here, where it is not target memory
};

/// An error that is not told yet: an MPI error class, and a sentence that goes behind the name of the call.
struct Failure {
  int error_class = MPI_SUCCESS;
  std::string reason;
  explicit operator bool() const noexcept { return error_class != MPI_SUCCESS; }
};

__attribute__((cold, format(printf, 2, 3))) Failure failure(int error_class, char const* format, ...);
__attribute__((cold)) Failure failure(engine::Status status, Subject const& subject);

/// The first of the operations on a rank that have failed, and that no request has told of.
struct LateFailure {
  int rank = MPI_PROC_NULL;   ///< MPI_PROC_NULL: not known. Unless `error` names another one.
  std::uint64_t process = 0;  ///< of the rank, at the engine
  engine::LateError error;
};
__attribute__((cold)) Failure late_failure(LateFailure const& late);
/// The failure of an operation whose request was freed, for Engine::keep_error().
engine::LateError late_error_of(engine::Status status, Subject const& subject) noexcept;

/// MPI error class for a failure of the engine.
int class_of(engine::Status status) noexcept;

/// An error code of the failure's class with "call: reason" as its string. No handler is invoked.
__attribute__((cold)) int make_code(char const* call, Failure const& failure);

/// Invokes the handler with such a code and returns it, after one line on stderr where the handler ends the
/// job.
__attribute__((cold)) int raise(Site const& site, Failure const& failure);
__attribute__((cold, format(printf, 3, 4))) int raise(Site const& site, int error_class, char const* format,
                                                      ...);

/// The handler of the site alone, without a line.
__attribute__((cold)) int invoke_handler(Site const& site, Failure const& failure);
/// One line on stderr, and no handler.
__attribute__((cold)) void report(char const* call, Failure const& failure);

/// For a rank argument that is not in a communicator of `size` processes.
__attribute__((cold)) int raise_rank(Site const& site, int rank, int size);

/// For calls whose communicator argument gives no state: says why, through a handler, or in one line on
/// stderr where MPI is not running. `comm` is the argument, null for a call that has none.
__attribute__((cold)) int raise_unusable(char const* call, MPI_Comm const* comm);

/// raise() for an engine status, MPI_SUCCESS for ok.
inline int result_of(Site const& site, engine::Status status, Subject const& subject) {
  return engine::failed(status) ? raise(site, failure(status, subject)) : MPI_SUCCESS;
}

}  // namespace mpixrma
