/// Conversion of engine status codes and exceptions to MPI error classes.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <new>
#include <string>

#include "engine/base/status.hpp"
#include "engine/op/late_error.hpp"
#include "engine/op/operation.hpp"

namespace mpixrma::windows {

int class_of_failure(engine::Status status) noexcept;
inline int class_of(engine::Status status) noexcept {
  return engine::failed(status) ? class_of_failure(status) : MPI_SUCCESS;
}

/// Returns the first failure of two parts of a call, or MPI_SUCCESS.
inline int first_of(int earlier, int later) noexcept { return earlier != MPI_SUCCESS ? earlier : later; }

/// The reason why this thread's most recent window creation, or call of a memory server, failed; MPI_SUCCESS
/// if there is none.
struct Refusal {
  int error_class = MPI_SUCCESS;
  std::string text;
};
Refusal& newest_refusal() noexcept;
/// Stores the reason and returns the class.
int refuse(int error_class, std::string const& text);

/// Returns an error code of the class with this text. Window functions return classes and such codes alike.
__attribute__((cold, format(printf, 2, 3))) int code_with(int error_class, char const* format, ...);
/// Prints the text of an error code in one line, with the rank in MPI_COMM_WORLD.
__attribute__((cold)) void print_error(int code);

constexpr engine::ReportedOperation reported_kind(engine::RmaOp const& operation) noexcept {
  if (operation.is_put()) return engine::ReportedOperation::put;
  if (operation.is_get()) return engine::ReportedOperation::get;
  return operation.fetches() ? engine::ReportedOperation::read_modify_write
                             : engine::ReportedOperation::accumulate;
}

/// An operation as described in an error text.
struct ReportedTarget {
  engine::ReportedOperation kind = engine::ReportedOperation::unknown;
  int rank = -1;  ///< -1: the operation is unknown
  MPI_Aint disp = 0;
  std::uint64_t bytes = 0;
};
/// Returns a text such as "a put of 8 bytes at displacement 64 of rank 1".
__attribute__((cold)) std::string describe(ReportedTarget const& subject);

/// Returns the error class of the exception being handled, for the catch blocks of functions that C calls.
int class_of_exception() noexcept;
/// Returns the result of `call`, or the error class of an exception that it throws: for steps in front of a
/// collective call, in which this process must take part.
template <typename Call>
int result_or_class(Call call) noexcept {
  try {
    return call();
  } catch (...) {
    return class_of_exception();
  }
}

}  // namespace mpixrma::windows
