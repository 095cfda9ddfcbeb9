/// Errors of operations and calls on a window, with texts.
#pragma once

#include <mpi.h>

#include "mpi-windows/state/error.hpp"
#include "mpi-windows/state/window.hpp"

namespace mpixrma::windows {

/// Returns the error class of an operation's status.
int class_of(Window const& window, engine::Status status) noexcept;
/// Returns the description of an operation at the target for its error text.
ReportedTarget subject_of(Window const& window, Target const& target,
                          engine::RmaOp const& operation) noexcept;
ReportedTarget subject_of(Window const& window, Target const& target,
                          engine::LateError const& error) noexcept;
/// Returns an error code for a failed operation on memory of `target`, with a text that describes the
/// operation.
int failure_of(Window const& window, Target const& target, engine::LateError const& error);
int failure_of(Window const& window, Target const& target, engine::Status status,
               engine::RmaOp const& operation);
/// Returns an error code for an operation outside of the memory of `target`.
int range_failure(Target const& target, ReportedTarget const& subject);
/// Returns a description of the open epoch, for error texts.
char const* epoch_text(Window const& window) noexcept;

__attribute__((cold)) int report_failure(Window const& window, int error, char const* call,
                                         ReportedTarget const& subject);
__attribute__((cold, noinline)) int report_failure(Window const& window, int error, char const* call,
                                                   int rank);
/// Returns the result of an MPI call. MPI_ERR_RMA_SYNC and MPI_ERR_RMA_RANGE get a text; an error with a text
/// is also printed on stderr if the window's error handler aborts the job.
inline int report(Window const& window, int error, char const* call, ReportedTarget const& subject = {}) {
  return error == MPI_SUCCESS ? MPI_SUCCESS : report_failure(window, error, call, subject);
}
/// As report_failure(), for a call with the argument `rank`.
inline int report(Window const& window, int error, char const* call, int rank) {
  return error == MPI_SUCCESS ? MPI_SUCCESS : report_failure(window, error, call, rank);
}

}  // namespace mpixrma::windows
