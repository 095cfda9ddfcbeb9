#include "armci/failure.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "include/armci/armci.h"
#include "mpix/comm/collective.hpp"
#include "mpix/error/exception.hpp"
#include "mpix/runtime/process_engine.hpp"

namespace armci {

namespace {

using mpixrma::engine::Status;

int reporting_rank = -1;

Failure failure_of(char const* head, char const* format, std::va_list arguments) {
  Failure failure{};
  int const used = std::snprintf(failure.text, sizeof failure.text, "%.200s: ", head);
  std::vsnprintf(failure.text + used, sizeof failure.text - static_cast<std::size_t>(used), format,
                 arguments);
  return failure;
}

/// The beginning of an error text: the call, the remote address and the process.
struct Head {
  Head(char const* call, int process, void const* remote) noexcept {
    int const used = std::snprintf(text, sizeof text, "%.60s", call);
    char* const rest = text + used;
    std::size_t const left = sizeof text - static_cast<std::size_t>(used);
    if (process >= 0 && remote != nullptr) {
      std::snprintf(rest, left, " at %p of process %d", remote, process);
    } else if (process >= 0) {
      std::snprintf(rest, left, " with process %d", process);
    }
  }
  char text[128];
};

std::string reason_of(OperationDescription const& operation) {
  if (operation.bytes == 0) return to_string(operation.status);
  return mpixrma::engine_of_process().peer_memory.reason(
      operation.peer, operation.status,
      {reinterpret_cast<std::uintptr_t>(operation.remote), operation.bytes, operation.contiguous,
       mpixrma::engine::ExposureId::none});
}

}  // namespace

void fail(char const* call, char const* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  Failure const failure = failure_of(call, format, arguments);
  va_end(arguments);
  throw failure;
}

void fail_at(char const* call, int process, void const* remote, char const* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  Failure const failure = failure_of(Head(call, process, remote).text, format, arguments);
  va_end(arguments);
  throw failure;
}

void fail_operation(OperationDescription const& operation) {
  fail_at(operation.call, operation.process, operation.remote, "%s", reason_of(operation).c_str());
}

void check_after_wait(char const* call, OperationDescription const& operation) {
  if (!mpixrma::engine::failed(operation.status)) return;
  Head const head(operation.call, operation.process, operation.remote);
  fail(call, "%s: %s", head.text, reason_of(operation).c_str());
}

void check_late_failure(char const* call, mpixrma::LateFailure const& late) {
  mpixrma::engine::Status const status = late.error.status;
  mpixrma::engine::TargetMemory const& memory = late.error.memory;
  char const* const kind = mpixrma::engine::name_of(late.error.kind);
  if (!mpixrma::engine::failed(status)) return;
  if (memory.bytes == 0) fail(call, "%s to process %d failed: %s", kind, late.rank, to_string(status));
  OperationDescription const operation{
      call,         late.rank,        reinterpret_cast<void const*>(memory.address), status, memory.bytes,
      late.process, memory.contiguous};
  fail(call, "%s of %zu bytes at %p of process %d failed: %s", kind, operation.bytes, operation.remote,
       operation.process, reason_of(operation).c_str());
}

void check_mpi(char const* call, int code) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  fail(call, "%s", text);
}

void check_collectively(char const* call, MPI_Comm comm, Steps const& mine) {
  bool const failed = mpixrma::agree(comm, mine.failed() ? 1 : 0) != 0;
  mine.check();
  if (failed) fail(call, "the call failed at another process");
}

Failure failure_of_exception() noexcept {
  try {
    throw;
  } catch (Failure const& failure) {
    return failure;
  } catch (...) {
    bool const memory = mpixrma::code_of_exception() == MPI_ERR_NO_MEM;
    Failure failure{};
    std::snprintf(failure.text, sizeof failure.text, "ARMCI: %s",
                  memory ? "not enough memory" : "internal error");
    return failure;
  }
}

void set_reporting_rank(int rank) noexcept { reporting_rank = rank; }

void report_exception() noexcept {
  Failure const failure = failure_of_exception();
  if (reporting_rank >= 0) {
    std::fprintf(stderr, "%d: %s\n", reporting_rank, failure.text);
  } else {
    std::fprintf(stderr, "%s\n", failure.text);
  }
}

void end_by_exception() noexcept {
  ARMCI_Error(failure_of_exception().text, 1);
  std::abort();
}

}  // namespace armci
