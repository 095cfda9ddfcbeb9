#include "mpi-windows/state/error.hpp"

#include <cstdarg>
#include <cstdio>
#include <memory>
#include <new>

#include "datatype/datatype.hpp"
#include "datatype/error_codes.hpp"
#include "engine/runtime/engine.hpp"

namespace mpixrma::windows {

int class_of_failure(engine::Status status) noexcept {
  using engine::Status;
  switch (status) {
    case Status::ok: return MPI_SUCCESS;
    case Status::bad_address:
    case Status::overrun:
    case Status::not_writable:
    case Status::out_of_bounds: return MPI_ERR_RMA_RANGE;
    case Status::device_memory:
    case Status::bad_origin: return MPI_ERR_BUFFER;
    case Status::bad_argument: return MPI_ERR_ARG;
    case Status::unsupported: return MPI_ERR_OP;
    case Status::no_descriptors:
    case Status::out_of_memory: return MPI_ERR_NO_MEM;
    case Status::busy: return MPI_ERR_RMA_CONFLICT;
    case Status::access_denied: return MPI_ERR_ACCESS;
    case Status::stale_exposure: return MPI_ERR_WIN;
    case Status::unreachable:
    case Status::transport:
    case Status::malformed: return MPI_ERR_OTHER;
    case Status::count_: break;
  }
  return MPI_ERR_INTERN;
}

/// Thread-local storage has only a pointer, because a library that dlopen loads gets little of this storage.
Refusal& newest_refusal() noexcept {
  static Refusal of_threads_without_memory;
  thread_local std::unique_ptr<Refusal> const newest(new (std::nothrow) Refusal);
  return newest != nullptr ? *newest : of_threads_without_memory;
}

int refuse(int error_class, std::string const& text) {
  newest_refusal() = {error_class, text};
  return error_class;
}

int code_with(int error_class, char const* format, ...) {
  char text[MPI_MAX_ERROR_STRING];
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return code_for(error_class, text);
}

void print_error(int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Error_string(code, text, &length);
  std::fprintf(stderr, "[rank %d] %s\n", rank, text);
}

std::string describe(ReportedTarget const& subject) {
  if (subject.rank < 0) return engine::name_of(subject.kind);
  char text[160];
  if (subject.bytes == 0) {
    std::snprintf(text, sizeof text, "%s on rank %d", engine::name_of(subject.kind), subject.rank);
  } else {
    std::snprintf(text, sizeof text, "%s of %llu bytes at displacement %lld of rank %d",
                  engine::name_of(subject.kind), static_cast<unsigned long long>(subject.bytes),
                  static_cast<long long>(subject.disp), subject.rank);
  }
  return text;
}

int class_of_exception() noexcept {
  try {
    throw;
  } catch (std::bad_alloc const&) {
    return MPI_ERR_NO_MEM;
  } catch (UnknownDatatype const&) {
    return MPI_ERR_TYPE;
  } catch (...) {
    return MPI_ERR_INTERN;
  }
}

}  // namespace mpixrma::windows
