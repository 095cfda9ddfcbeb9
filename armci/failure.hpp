/// Errors of ARMCI calls, and the one line that each of them prints on stderr.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "engine/base/status.hpp"
#include "mpix/comm/communicator.hpp"
#include "mpix/error/error.hpp"

namespace armci {

/// An error of a call. The text names the call, the argument and its value, and the process and the address
/// if the call has them. Never leaves the library.
struct Failure {
  char text[400];
};

/// Throws a Failure "CALL: ...", printf-style.
[[noreturn]] void fail(char const* call, char const* format, ...) __attribute__((format(printf, 2, 3), cold));

/// Throws a Failure of a call on memory of a process: "CALL at REMOTE of process PROCESS: ...", "CALL with
/// process PROCESS: ..." if `remote` is null, and the text of fail() if `process` is negative.
[[noreturn]] void fail_at(char const* call, int process, void const* remote, char const* format, ...)
    __attribute__((format(printf, 4, 5), cold));

/// The description of an operation in its error text.
struct OperationDescription {
  char const* call = nullptr;
  int process = -1;
  void const* remote = nullptr;
  mpixrma::engine::Status status = mpixrma::engine::Status::ok;
  std::size_t bytes = 0;   ///< number of bytes at the target; 0 if unknown
  std::uint64_t peer = 0;  ///< engine's identity of the process, valid if `bytes` is not 0
  bool contiguous = true;  ///< whether the target memory is contiguous
};

/// Throws a Failure that describes the operation.
[[noreturn]] void fail_operation(OperationDescription const& operation) __attribute__((cold));
/// Throws a Failure if the call's own operation has the error `status`.
inline void check(char const* call, int process, void const* remote, mpixrma::engine::Status status) {
  if (mpixrma::engine::failed(status)) [[unlikely]]
    fail_operation({call, process, remote, status});
}
inline OperationDescription description_of(char const* call, mpixrma::Target const& target,
                                           mpixrma::engine::RmaOp const& operation,
                                           mpixrma::engine::Status status) {
  return {call,
          target.rank,
          reinterpret_cast<void const*>(operation.target),
          status,
          operation.target_layout.size(),
          target.peer->process(),
          operation.target_layout.is_contiguous()};
}
inline void check_operation(char const* call, mpixrma::Target const& target,
                            mpixrma::engine::RmaOp const& operation, mpixrma::engine::Status status) {
  if (mpixrma::engine::failed(status)) [[unlikely]]
    fail_operation(description_of(call, target, operation, status));
}
/// Throws a Failure if the operation, for which `call` has waited, failed.
void check_after_wait(char const* call, OperationDescription const& operation);
/// Throws a Failure if an operation failed whose call had returned before the target rejected it.
void check_late_failure(char const* call, mpixrma::LateFailure const& late);

/// Throws a Failure if an MPI function returned an error code; ARMCI's communicators return errors.
void check_mpi(char const* call, int code);

/// Converts the exception that is being handled, of any type, to a Failure. Call it in a catch block.
Failure failure_of_exception() noexcept __attribute__((cold));

/// Sets the rank that begins each line on stderr. A negative rank, as before ARMCI_Init, prints no prefix.
void set_reporting_rank(int rank) noexcept;

/// Prints the exception being handled as one line on stderr. Call it in a catch block.
void report_exception() noexcept __attribute__((cold));
/// Runs the body of a function that returns an error code: 0, or `failed` after one line on stderr. The
/// program continues.
template <typename Body>
int return_code_of(Body body, int failed = 1) noexcept {
  try {
    return body();
  } catch (...) {
    report_exception();
    return failed;
  }
}

/// Ends the program through ARMCI_Error with the exception being handled. Call it in a catch block.
[[noreturn]] void end_by_exception() noexcept __attribute__((cold));
/// Runs the body of a function that has no error code: a failure ends the program through ARMCI_Error.
template <typename Body>
auto abort_on_failure(Body body) noexcept {
  try {
    return body();
  } catch (...) {
    end_by_exception();
  }
}

/// Runs all steps even if some of them fail.
class Steps {
 public:
  template <typename Step>
  void run(Step step) {
    try {
      step();
    } catch (...) {
      if (!first_) first_ = failure_of_exception();
    }
  }
  bool failed() const noexcept { return first_.has_value(); }
  /// Throws the first failure, if any.
  void check() const {
    if (first_) throw *first_;
  }

 private:
  std::optional<Failure> first_;
};

/// Collective over `comm`: throws a Failure at every process if a step failed at one of them.
void check_collectively(char const* call, MPI_Comm comm, Steps const& mine);

}  // namespace armci
