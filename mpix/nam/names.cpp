/// Names of persistent windows, which their server keeps; all others are passed on.
#include "include/mpix_rma.h"
#include "mpix/error/exception.hpp"
#include "mpix/nam/connection.hpp"
#include "mpix/nam/windows.hpp"
#include "mpix/runtime/process_engine.hpp"
#include "mpix/runtime/runtime.hpp"

using namespace mpix;

namespace {

/// MPI error code of a call that a server has answered with `error_class`.
int told_by_server(char const* call, int error_class) {
  return error_class == MPI_SUCCESS ? MPI_SUCCESS : raise({call}, newest_refusal(error_class));
}

}  // namespace

extern "C" MPIX_RMA_API int MPI_Publish_name(char const* service_name, MPI_Info info,
                                             char const* port_name) try {
  if (service_name == nullptr || !is_nam_port(port_name) || prepare() != Readiness::ready || !makes_windows())
    return PMPI_Publish_name(service_name, info, port_name);
  return told_by_server("MPI_Publish_name", host().nam_publish(service_name, port_name));
} catch (...) {
  return raise_exception(nullptr);
}

extern "C" MPIX_RMA_API int MPI_Unpublish_name(char const* service_name, MPI_Info info,
                                               char const* port_name) try {
  if (service_name == nullptr || !is_nam_port(port_name) || prepare() != Readiness::ready || !makes_windows())
    return PMPI_Unpublish_name(service_name, info, port_name);
  return told_by_server("MPI_Unpublish_name", host().nam_unpublish(service_name, port_name));
} catch (...) {
  return raise_exception(nullptr);
}

/// A server that knows the name is asked before MPI.
extern "C" MPIX_RMA_API int MPI_Lookup_name(char const* service_name, MPI_Info info, char* port_name) try {
  bool const asks = service_name != nullptr && port_name != nullptr && makes_windows();
  if (asks && host().nam_lookup(service_name, port_name, MPI_MAX_PORT_NAME) == MPI_SUCCESS)
    return MPI_SUCCESS;
  return PMPI_Lookup_name(service_name, info, port_name);
} catch (...) {
  return raise_exception(nullptr);
}
