/// Names of persistent windows, which their server stores; calls for all other names are forwarded to MPI.
#include <mutex>

#include "include/mpix_rma.h"
#include "mpix/error/exception.hpp"
#include "mpix/nam/connection.hpp"
#include "mpix/nam/windows.hpp"
#include "mpix/runtime/process_engine.hpp"
#include "mpix/runtime/runtime.hpp"

using namespace mpixrma;

namespace {

/// Returns the MPI error code of a call that a server has answered with `error_class`.
int result_of_server_call(char const* call, int error_class) {
  return error_class == MPI_SUCCESS ? MPI_SUCCESS : raise({call}, newest_refusal(error_class));
}

/// Returns the name to look up at a server: with the user in the info key mpix_nam_user, if it is set.
std::string full_name(char const* service_name, MPI_Info info) {
  std::string const user = value_of(info, "mpix_nam_user");
  return user.empty() ? service_name : "~" + user + "/" + service_name;
}

int class_of_code(int code) {
  int error_class = code;
  PMPI_Error_class(code, &error_class);
  return error_class;
}

std::string text_of_code(int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  PMPI_Error_string(code, text, &length);
  return text;
}

}  // namespace

extern "C" MPIX_RMA_API int MPI_Publish_name(char const* service_name, MPI_Info info,
                                             char const* port_name) try {
  if (service_name == nullptr || !is_nam_port(port_name) || prepare() != Readiness::ready ||
      !provides_windows())
    return PMPI_Publish_name(service_name, info, port_name);
  return result_of_server_call("MPI_Publish_name", host().nam_publish(service_name, port_name));
} catch (...) {
  return raise_exception(nullptr);
}

extern "C" MPIX_RMA_API int MPI_Unpublish_name(char const* service_name, MPI_Info info,
                                               char const* port_name) try {
  if (service_name == nullptr || !is_nam_port(port_name) || prepare() != Readiness::ready ||
      !provides_windows())
    return PMPI_Unpublish_name(service_name, info, port_name);
  return result_of_server_call("MPI_Unpublish_name",
                               host().nam_unpublish(full_name(service_name, info).c_str(), port_name));
} catch (...) {
  return raise_exception(nullptr);
}

/// Servers are asked before MPI, because Open MPI calls the handler of MPI_COMM_WORLD for an unknown name and
/// does not print the name.
extern "C" MPIX_RMA_API int MPI_Lookup_name(char const* service_name, MPI_Info info, char* port_name) try {
  bool const asks =
      service_name != nullptr && port_name != nullptr && prepare() == Readiness::ready && provides_windows();
  if (!asks) return PMPI_Lookup_name(service_name, info, port_name);
  int const refused = host().nam_lookup(full_name(service_name, info).c_str(), port_name, MPI_MAX_PORT_NAME);
  if (refused == MPI_SUCCESS) return MPI_SUCCESS;
  std::string const reason = newest_refusal(refused).reason;
  int code = MPI_SUCCESS;
  {
    static std::mutex one_at_a_time;  // the second of two threads would restore the handler of the first one
    std::lock_guard const held(one_at_a_time);
    ReturnedErrors const returned(MPI_COMM_WORLD);
    code = PMPI_Lookup_name(service_name, info, port_name);
  }
  if (code == MPI_SUCCESS) return MPI_SUCCESS;
  return raise({"MPI_Lookup_name"}, class_of_code(code), "name \"%s\": %s; MPI itself: %s", service_name,
               reason.c_str(), text_of_code(code).c_str());
} catch (...) {
  return raise_exception(nullptr);
}
