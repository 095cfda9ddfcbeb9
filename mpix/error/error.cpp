#include "mpix/error/error.hpp"

#include <cstdio>

#include "include/mpix_rma.h"
#include "mpix/error/exception.hpp"
#include "mpix/runtime/runtime.hpp"

namespace mpix {

int code_of(engine::Status status) noexcept {
  using engine::Status;
  switch (status) {
    case Status::ok: return MPI_SUCCESS;
    case Status::bad_address: return keys().address_class;
    case Status::bad_origin: return MPI_ERR_BUFFER;
    case Status::bad_argument: return MPI_ERR_ARG;
    case Status::unsupported: return MPI_ERR_OP;
    case Status::no_descriptors:
    case Status::out_of_memory: return MPI_ERR_NO_MEM;
    case Status::unreachable:
    case Status::transport:
    case Status::malformed: return keys().transport_class;
  }
  return MPI_ERR_INTERN;
}

int raise(MPI_Comm comm, int code) {
  MPI_Comm_call_errhandler(comm == MPI_COMM_NULL ? MPI_COMM_WORLD : comm, code);
  return code;
}

int raise_unusable(char const* call, MPI_Comm const*) {
  switch (prepare()) {
    case Readiness::ready: return raise(MPI_COMM_NULL, MPI_ERR_COMM);
    case Readiness::not_initialised:
      std::fprintf(stderr, "%s: called before MPI_Init\n", call);
      return MPI_ERR_OTHER;
    case Readiness::finalised:
      std::fprintf(stderr, "%s: called after MPI_Finalize\n", call);
      return MPI_ERR_OTHER;
    case Readiness::no_component:
      std::fprintf(stderr, "%s: Open MPI did not start the component osc/mpix; %s\n", call,
                   why_no_component().c_str());
      return raise(MPI_COMM_NULL, MPI_ERR_OTHER);
  }
  return MPI_ERR_INTERN;
}

}  // namespace mpix

int MPIX_RMA_Error_classes(int* address, int* transport) try {
  if (mpix::prepare() != mpix::Readiness::ready)
    return mpix::raise_unusable("MPIX_RMA_Error_classes", nullptr);
  if (address == nullptr || transport == nullptr) return mpix::raise(MPI_COMM_NULL, MPI_ERR_ARG);
  *address = mpix::keys().address_class;
  *transport = mpix::keys().transport_class;
  return MPI_SUCCESS;
} catch (...) {
  return mpix::raise_exception(nullptr);
}
