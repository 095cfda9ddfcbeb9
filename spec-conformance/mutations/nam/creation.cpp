/// Creation of windows, and their end.
#include <vector>

#include "spec-conformance/mutations/nam/broken.hpp"

namespace mpixrma::broken {

std::map<MPI_Win, Made> made;
std::map<MPI_Comm, Handle> handles;

namespace {

/// Whether the processes have different values. Collective.
bool differs(MPI_Comm comm, int value) {
  int ends[2] = {value, -value};
  PMPI_Allreduce(MPI_IN_PLACE, ends, 2, MPI_INT, MPI_MAX, comm);
  return ends[0] != -ends[1];
}

/// Whether a single process has brought memory. Collective.
bool is_of_one(MPI_Comm comm, MPI_Aint bytes) {
  int bringing = bytes != 0 ? 1 : 0;
  PMPI_Allreduce(MPI_IN_PLACE, &bringing, 1, MPI_INT, MPI_SUM, comm);
  return bringing == 1;
}

/// A copy of an info object in which a key has another value, or none.
class Changed {
 public:
  Changed(MPI_Info info, char const* key, char const* value) {
    info == MPI_INFO_NULL ? PMPI_Info_create(&info_) : PMPI_Info_dup(info, &info_);
    if (value != nullptr) {
      PMPI_Info_set(info_, key, value);
    } else if (!value_of(info_, key).empty()) {
      PMPI_Info_delete(info_, key);
    }
  }
  ~Changed() { PMPI_Info_free(&info_); }
  Changed(Changed const&) = delete;
  Changed& operator=(Changed const&) = delete;
  MPI_Info get() const { return info_; }

 private:
  MPI_Info info_ = MPI_INFO_NULL;
};

std::string port_of(MPI_Win window) {
  MPI_Info info = MPI_INFO_NULL;
  PMPI_Win_get_info(window, &info);
  std::string port = value_of(info, "deep_win_port_name");
  PMPI_Info_free(&info);
  return port;
}

auto const allocate = next_definition<decltype(MPI_Win_allocate)>("MPI_Win_allocate");

/// Allocates a window in the way that breaks the clause, if the window concerns it.
int allocate_broken(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* window) {
  std::string const kind = value_of(info, "deep_mem_kind");
  bool const has_kinds =
      (is("N_03") || is("N_01") || is("N_01/memory")) && differs(comm, static_cast<int>(kind.size()));
  bool const is_passing = kind == "deep_nam" && !has_kinds;
  if ((is("N_03") && has_kinds) || (is("N_01/memory") && is_passing && differs(comm, unit)))
    return allocate(size, unit, MPI_INFO_NULL, comm, base, window);
  if (is("N_01") && is_passing) PMPI_Bcast(&unit, 1, MPI_INT, 0, comm);
  if (is("N_10") && size == sizeof(int))
    return allocate(size, unit, Changed(info, "deep_mem_kind", "deep_nam").get(), comm, base, window);
  if (is("N_13"))
    return allocate(size, unit, Changed(info, "mpix_nam_mode", nullptr).get(), comm, base, window);
  return without_error("N_04/limit", allocate(size, unit, info, comm, base, window), MPI_ERR_NO_MEM);
}

/// Overwrites the memory of this process.
void lose_data(MPI_Win window, MPI_Aint bytes) {
  std::vector<char> const zeroes(static_cast<std::size_t>(bytes));
  int const rank = own_rank(window);
  PMPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, window);
  PMPI_Put(zeroes.data(), static_cast<int>(bytes), MPI_BYTE, rank, 0, static_cast<int>(bytes), MPI_BYTE,
           window);
  PMPI_Win_unlock(rank, window);
}

}  // namespace
}  // namespace mpixrma::broken

using namespace mpixrma::broken;

extern "C" {

int MPI_Win_allocate(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* window) {
  int const code = allocate_broken(size, unit, info, comm, base, window);
  if (code != MPI_SUCCESS || value_of(info, "deep_mem_kind").empty()) return code;
  Made one;
  one.bytes = size;
  one.is_flat = (is("N_02") || is("N_02/targets")) && is_of_one(comm, size);
  one.port = port_of(*window);
  made[*window] = one;
  return code;
}

int MPIX_Win_allocate_nam(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, MPI_Win* window) {
  void* base = nullptr;
  if (is("N_05") && info == MPI_INFO_NULL) return PMPI_Win_allocate(size, unit, info, comm, &base, window);
  return next_definition<decltype(MPIX_Win_allocate_nam)>("MPIX_Win_allocate_nam")(size, unit, info, comm,
                                                                                   window);
}

int MPI_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win* window) {
  auto const handle = handles.find(comm);
  if (handle != handles.end() && ++handle->second.windows > 2 && is("N_22")) return MPI_ERR_COMM;
  int const code =
      next_definition<decltype(MPI_Win_create_dynamic)>("MPI_Win_create_dynamic")(info, comm, window);
  if (code != MPI_SUCCESS) return code;
  std::string const port = value_of(info, "deep_win_port_name");
  for (auto& [other, one] : made) one.is_shared = one.is_shared || (!port.empty() && one.port == port);
  if (handle != handles.end()) made[*window].handle = comm;
  return code;
}

int MPIX_Win_connect(char const* port, MPI_Info info, int root, MPI_Comm comm, MPI_Win* window) {
  if (is("N_25") && comm == MPI_COMM_SELF) return MPI_ERR_COMM;
  int const code =
      next_definition<decltype(MPIX_Win_connect)>("MPIX_Win_connect")(port, info, root, comm, window);
  if (code == MPI_SUCCESS) made[*window].by_call = true;
  return code;
}

int MPI_Win_free(MPI_Win* window) {
  constexpr MPI_Aint large = 1 << 20;
  auto const known = made.find(*window);
  if (known != made.end()) {
    Made const one = known->second;
    made.erase(known);
    if (is("N_04") && one.bytes > large) return *window = MPI_WIN_NULL, MPI_SUCCESS;
    if (is("N_11") && one.is_shared) lose_data(*window, one.bytes);
  }
  return PMPI_Win_free(window);
}

}  // extern "C"
