/// Calls that cannot be served. What their one line on stderr says is put together here and nowhere else.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "engine/base/status.hpp"
#include "mpix/comm/communicator.hpp"
#include "mpix/error/error.hpp"

namespace armci {

/// A call that cannot be served. The text names the call, the argument and its value, and the process and the
/// address where the call has them. Never leaves the library.
struct Failure {
  char text[400];
};

/// Throws a Failure "CALL: ...", printf-style.
[[noreturn]] void fail(char const* call, char const* format, ...) __attribute__((format(printf, 2, 3), cold));

/// Of a call about memory of a process: "CALL at REMOTE of process PROCESS: ...". With `remote` null it is
/// "CALL with process PROCESS: ...", with `process` negative as fail().
[[noreturn]] void fail_at(char const* call, int process, void const* remote, char const* format, ...)
    __attribute__((format(printf, 4, 5), cold));

/// An operation that failed, as its own call or one that waits for it tells.
struct FailedOperation {
  char const* call = nullptr;
  int process = -1;
  void const* remote = nullptr;
  mpixrma::engine::Status status = mpixrma::engine::Status::ok;
  std::size_t bytes = 0;   ///< at the target; 0: not known
  std::uint64_t peer = 0;  ///< the process at the engine, where `bytes` are known
  bool contiguous = true;  ///< the memory of the target
};

/// Throws a Failure when `status` is one: of the call's own operation, ...
[[noreturn]] void fail_operation(FailedOperation const& operation) __attribute__((cold));
inline void check(char const* call, int process, void const* remote, mpixrma::engine::Status status) {
  if (mpixrma::engine::failed(status)) [[unlikely]]
    fail_operation({call, process, remote, status});
}
template <typename Operation>
FailedOperation named(char const* call, mpixrma::Target const& target, Operation const& operation,
                      mpixrma::engine::Status status) {
  return {call,
          target.rank,
          reinterpret_cast<void const*>(operation.target),
          status,
          operation.target_layout.size(),
          target.peer->process(),
          operation.target_layout.is_contiguous()};
}
template <typename Operation>
inline void check_operation(char const* call, mpixrma::Target const& target, Operation const& operation,
                            mpixrma::engine::Status status) {
  if (mpixrma::engine::failed(status)) [[unlikely]]
    fail_operation(named(call, target, operation, status));
}
/// ... of one that `call` has waited for, ...
void check_waited(char const* call, FailedOperation const& operation);
/// ... or of one that had returned before it was refused at its target.
void check_complete(char const* call, mpixrma::LateFailure const& late);

/// The communicators return errors.
void check_mpi(char const* call, int code);

/// Inside of a handler: what is being thrown as a Failure, memory that cannot be had too.
Failure failure_of_exception() noexcept __attribute__((cold));

/// What the lines on stderr begin with: the rank of this process, or, when negative, as before ARMCI_Init,
/// nothing.
void report_as(int rank) noexcept;

/// The body of a function that returns an error code: 0, or `failed` after one line on stderr. The program
/// goes on.
void report_exception() noexcept __attribute__((cold));
template <typename Body>
int returning(Body body, int failed = 1) noexcept {
  try {
    return body();
  } catch (...) {
    report_exception();
    return failed;
  }
}

/// The body of a function that has no error code: a failure ends the program through ARMCI_Error.
[[noreturn]] void end_by_exception() noexcept __attribute__((cold));
template <typename Body>
auto ending(Body body) noexcept {
  try {
    return body();
  } catch (...) {
    end_by_exception();
  }
}

/// Steps that are all taken, whichever of them fail.
class Steps {
 public:
  template <typename Step>
  void take(Step step) {
    try {
      step();
    } catch (...) {
      if (!first_) first_ = failure_of_exception();
    }
  }
  bool failed() const noexcept { return first_.has_value(); }
  /// Throws the first failure, if there was one.
  void check() const {
    if (first_) throw *first_;
  }

 private:
  std::optional<Failure> first_;
};

/// Collective over `comm`: throws a Failure at every process when a step failed at one.
void check_together(char const* call, MPI_Comm comm, Steps const& mine);

}  // namespace armci
