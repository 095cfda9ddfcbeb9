#include "windows/error.hpp"

#include "datatype/datatype.hpp"

namespace mpix::windows {

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

Refusal& newest_refusal() noexcept {
  thread_local Refusal newest;
  return newest;
}

int refuse(int error_class, std::string const& text) {
  newest_refusal() = {error_class, text};
  return error_class;
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

}  // namespace mpix::windows
