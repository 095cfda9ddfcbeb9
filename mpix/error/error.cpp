#include "mpix/error/error.hpp"

#include <cstdarg>
#include <cstdio>

#include "datatype/error_codes.hpp"
#include "datatype/handle.hpp"
#include "include/mpix_rma.h"
#include "mpix/error/exception.hpp"
#include "mpix/runtime/process_engine.hpp"
#include "mpix/runtime/profiling.hpp"
#include "mpix/runtime/runtime.hpp"

MPIX_PROFILED(MPIX_RMA_Error_class)

namespace mpixrma {

namespace {

std::string formatted(char const* format, std::va_list arguments) {
  char text[MPI_MAX_ERROR_STRING];
  std::vsnprintf(text, sizeof text, format, arguments);
  return text;
}

/// Whether the communicator's error handler is a predefined one that aborts the job.
bool ends_job(MPI_Comm comm) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (PMPI_Comm_get_errhandler(comm, &handler) != MPI_SUCCESS) return false;
  return ends_job_and_free(handler);
}

/// Prints `text` with the rank, because Open MPI prints the error of only one process, without its rank.
void say(std::string const& text) {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::fprintf(stderr, "[rank %d] %s\n", rank, text.c_str());
}

std::string text_of(char const* call, Failure const& failure) {
  return std::string(call) + ": " + failure.reason;
}

int invoke_handler(MPI_Comm comm, int code) {
  MPI_Comm_call_errhandler(comm, code);
  return code;
}

/// The full reason may exceed the length of an error string, so it is printed too.
int raise_missing_engine(char const* call, MPI_Comm comm) {
  std::string const reason = why_no_engine();
  std::fprintf(stderr, "%s: %s\n", call, reason.c_str());
  return invoke_handler(comm == MPI_COMM_NULL ? MPI_COMM_WORLD : comm,
                        make_code(call, {keys().transport_class, reason}));
}

}  // namespace

int class_of(engine::Status status) noexcept {
  using engine::Status;
  switch (status) {
    case Status::ok: return MPI_SUCCESS;
    case Status::device_memory:
    case Status::bad_address:
    case Status::overrun:
    case Status::not_writable: return keys().address_class;
    case Status::bad_origin: return MPI_ERR_BUFFER;
    case Status::bad_argument: return MPI_ERR_ARG;
    case Status::unsupported: return MPI_ERR_OP;
    case Status::no_descriptors:
    case Status::out_of_memory: return MPI_ERR_NO_MEM;
    case Status::unreachable:
    case Status::transport:
    case Status::malformed: return keys().transport_class;
    case Status::busy: return MPI_ERR_RMA_SYNC;
    case Status::out_of_bounds: return MPI_ERR_RMA_RANGE;
    case Status::access_denied: return MPI_ERR_ACCESS;
    case Status::stale_exposure: return keys().address_class;
    case Status::count_: break;
  }
  return MPI_ERR_INTERN;
}

Failure failure(int error_class, char const* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  Failure made{error_class, formatted(format, arguments)};
  va_end(arguments);
  return made;
}

Failure failure(engine::Status status, Subject const& subject) {
  if (!engine::failed(status)) return {};
  bool const missing = status == engine::Status::bad_address && subject.missing != nullptr;
  int const error_class = class_of(status);
  bool const here = status == engine::Status::bad_origin || status == engine::Status::device_memory;
  if (missing) return failure(error_class, "%s", subject.missing);
  if (here || subject.rank == MPI_PROC_NULL) return failure(error_class, "%s", engine::to_string(status));
  if (subject.address == 0)
    return failure(error_class, "%s (rank %d)", engine::to_string(status), subject.rank);
  if (subject.bytes == 0)
    return failure(error_class, "%s (address 0x%llx of rank %d)", engine::to_string(status),
                   static_cast<unsigned long long>(subject.address), subject.rank);
  engine::TargetMemory const memory{subject.address, subject.bytes, subject.contiguous,
                                    engine::ExposureId::none};
  return failure(error_class, "%s (address 0x%llx of rank %d, %zu bytes)",
                 engine_of_process().peer_memory.reason(subject.process, status, memory).c_str(),
                 static_cast<unsigned long long>(subject.address), subject.rank, subject.bytes);
}

Failure late_failure(LateFailure const& late) {
  using Kind = engine::ReportedOperation;
  engine::LateError const& error = late.error;
  if (!engine::failed(error.status)) return {};
  int const error_class = class_of(error.status);
  char const* const kind = engine::name_of(error.kind);
  bool const of_peer = error.rank == engine::LateError::of_peer;
  int const rank = of_peer ? late.rank : error.rank;
  std::string const named = rank < 0 ? "" : "rank " + std::to_string(rank) + (of_peer ? late.ranks : "");
  std::string const target = rank < 0 ? "" : " of " + named;
  bool const is_lock = error.kind == Kind::lock || error.kind == Kind::unlock;
  if (is_lock || (error.kind == Kind::unknown && error.memory.address == 0))
    return failure(error_class, "%s%s failed: %s", kind, rank < 0 ? "" : (" on " + named).c_str(),
                   engine::to_string(error.status));
  // `late.process` is the peer: for a failure at another rank, only the text of the status is known.
  std::string const reason =
      of_peer && rank >= 0 ? engine_of_process().peer_memory.reason(late.process, error.status, error.memory)
                           : engine::to_string(error.status);
  return failure(error_class, "%s of %llu bytes at address 0x%llx%s failed: %s", kind,
                 static_cast<unsigned long long>(error.memory.bytes),
                 static_cast<unsigned long long>(error.memory.address), target.c_str(), reason.c_str());
}

engine::LateError late_error_of(engine::Status status, Subject const& subject) noexcept {
  return {status,
          engine::ReportedOperation::unknown,
          {subject.address, subject.bytes, subject.contiguous, engine::ExposureId::none},
          subject.rank == MPI_PROC_NULL ? engine::LateError::unknown : subject.rank};
}

int make_code(char const* call, Failure const& failure) {
  return code_for(failure.error_class, text_of(call, failure));
}

int raise(Site const& site, Failure const& failure) {
  MPI_Comm const comm = site.comm == MPI_COMM_NULL ? MPI_COMM_WORLD : site.comm;
  int const code = make_code(site.call, failure);
  if (ends_job(comm)) say(text_of(site.call, failure));
  return invoke_handler(comm, code);
}

int invoke_handler(Site const& site, Failure const& failure) {
  return invoke_handler(site.comm == MPI_COMM_NULL ? MPI_COMM_WORLD : site.comm,
                        make_code(site.call, failure));
}

void report(char const* call, Failure const& failure) { say(text_of(call, failure)); }

int raise(Site const& site, int error_class, char const* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  Failure const made{error_class, formatted(format, arguments)};
  va_end(arguments);
  return raise(site, made);
}

int raise_rank(Site const& site, int rank, int size) {
  return raise(site, MPI_ERR_RANK, "target_rank %d is not in the communicator, which has %d process%s", rank,
               size, size == 1 ? "" : "es");
}

int raise_unusable(char const* call, MPI_Comm const* comm) {
  switch (prepare()) {
    case Readiness::ready:
      if (comm == nullptr) return raise({call}, MPI_ERR_COMM, "communicator is a null pointer");
      if (*comm == MPI_COMM_NULL) return raise({call}, MPI_ERR_COMM, "communicator is MPI_COMM_NULL");
      return raise({call}, MPI_ERR_COMM, "communicator %p does not exist or has been freed",
                   reinterpret_cast<void*>(word_of(*comm)));
    case Readiness::not_initialised:
      std::fprintf(stderr, "%s: called before MPI_Init\n", call);
      return MPI_ERR_OTHER;
    case Readiness::finalised:
      std::fprintf(stderr, "%s: called after MPI_Finalize\n", call);
      return MPI_ERR_OTHER;
    case Readiness::forked:
      std::fprintf(stderr, "%s: called in a child process made by fork()\n", call);
      return MPI_ERR_OTHER;
    case Readiness::no_engine: return raise_missing_engine(call, comm != nullptr ? *comm : MPI_COMM_WORLD);
  }
  return MPI_ERR_INTERN;
}

}  // namespace mpixrma

int MPIX_RMA_Error_class(MPIX_RMA_Error which, int* error_class) try {
  using namespace mpixrma;
  char const* const call = "MPIX_RMA_Error_class";
  Readiness const readiness = prepare();
  if (readiness != Readiness::ready && readiness != Readiness::no_engine)
    return raise_unusable(call, nullptr);
  if (error_class == nullptr) return raise({call}, MPI_ERR_ARG, "error_class is a null pointer");
  switch (which) {
    case MPIX_RMA_ERR_ADDRESS: *error_class = keys().address_class; return MPI_SUCCESS;
    case MPIX_RMA_ERR_TRANSPORT: *error_class = keys().transport_class; return MPI_SUCCESS;
    case MPIX_RMA_ERR_NOTIFICATION: *error_class = keys().notification_class; return MPI_SUCCESS;
  }
  return raise({call}, MPI_ERR_ARG, "%d is not an error class of this library", static_cast<int>(which));
} catch (...) {
  return mpixrma::raise_exception(nullptr);
}
