/// Handles of windows, and names.
#include <algorithm>
#include <cstring>

#include "spec-conformance/mutations/nam/broken.hpp"

using namespace mpixrma::broken;

namespace {

/// The names that the broken promise of N_12 keeps in this process.
std::map<std::string, std::string> names;

bool has_windows(MPI_Comm handle) {
  return std::ranges::any_of(made, [&](auto const& entry) { return entry.second.handle == handle; });
}

}  // namespace

extern "C" {

int MPI_Comm_connect(char const* port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* handle) {
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  MPI_Info with_key = MPI_INFO_NULL;
  if (is("N_20") && rank == root && info == MPI_INFO_NULL) {
    PMPI_Info_create(&with_key);
    PMPI_Info_set(with_key, "deep_win_connect", "true");
    info = with_key;
  }
  int const code =
      next_definition<decltype(MPI_Comm_connect)>("MPI_Comm_connect")(port, info, root, comm, handle);
  if (with_key != MPI_INFO_NULL) PMPI_Info_free(&with_key);
  if (code != MPI_SUCCESS) return code;
  PMPI_Comm_size(comm, &handles[*handle].connecting);
  if (is("N_20/root") && root != 0 && *port == '\0') return MPI_Comm_free(handle), MPI_ERR_PORT;
  return code;
}

int MPI_Comm_remote_size(MPI_Comm comm, int* size) {
  int const code = next_definition<decltype(MPI_Comm_remote_size)>("MPI_Comm_remote_size")(comm, size);
  auto const handle = handles.find(comm);
  if (is("N_22/size") && handle != handles.end()) *size = handle->second.connecting;
  return code;
}

int MPI_Comm_test_inter(MPI_Comm comm, int* flag) {
  int const code = next_definition<decltype(MPI_Comm_test_inter)>("MPI_Comm_test_inter")(comm, flag);
  if (is("N_20/kind") && handles.count(comm) != 0) *flag = 0;
  return code;
}

int MPI_Comm_free(MPI_Comm* comm) {
  handles.erase(*comm);
  return next_definition<decltype(MPI_Comm_free)>("MPI_Comm_free")(comm);
}

int MPI_Comm_disconnect(MPI_Comm* comm) {
  if (is("N_22/freed") && has_windows(*comm)) return MPI_ERR_COMM;
  handles.erase(*comm);
  return next_definition<decltype(MPI_Comm_disconnect)>("MPI_Comm_disconnect")(comm);
}

int MPI_Send(void const* buffer, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm) {
  int const code = PMPI_Send(buffer, count, type, rank, tag, comm);
  return handles.count(comm) != 0 ? without_error("N_21", code, MPI_ERR_COMM) : code;
}

int MPI_Publish_name(char const* name, MPI_Info info, char const* port) {
  if (is("N_12")) return names.emplace(name, port).second ? MPI_SUCCESS : MPI_ERR_NAME;
  return next_definition<decltype(MPI_Publish_name)>("MPI_Publish_name")(name, info, port);
}

int MPI_Lookup_name(char const* name, MPI_Info info, char* port) {
  if (is("N_12")) {
    auto const found = names.find(name);
    if (found == names.end()) return MPI_ERR_NAME;
    std::strcpy(port, found->second.c_str());
    return MPI_SUCCESS;
  }
  MPI_Info const given = is("N_12/user") ? MPI_INFO_NULL : info;
  return next_definition<decltype(MPI_Lookup_name)>("MPI_Lookup_name")(name, given, port);
}

int MPI_Unpublish_name(char const* name, MPI_Info info, char const* port) {
  if (is("N_12")) return names.erase(name) != 0 ? MPI_SUCCESS : MPI_ERR_NAME;
  return next_definition<decltype(MPI_Unpublish_name)>("MPI_Unpublish_name")(name, info, port);
}

}  // extern "C"
