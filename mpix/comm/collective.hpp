/// Agreement and exchange functions of collective calls.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <vector>

#include "mpix/error/error.hpp"
#include "mpix/runtime/runtime.hpp"

namespace mpixrma {

inline int size_of(MPI_Comm comm) {
  int size = 0;
  PMPI_Comm_size(comm, &size);
  return size;
}

inline bool is_intercommunicator(MPI_Comm comm) {
  int inter = 0;
  PMPI_Comm_test_inter(comm, &inter);
  return inter != 0;
}

/// Returns the maximum of `code` over all processes of the communicator (both groups), so that all of them
/// see a failure.
inline int agree(MPI_Comm comm, int code) {
  int worst = code;
  PMPI_Allreduce(&code, &worst, 1, MPI_INT, MPI_MAX, comm);
  if (!is_intercommunicator(comm)) return worst;
  // On an intercommunicator each group receives the other group's result; the second reduction brings a group
  // its own result back.
  int const both = std::max(code, worst);
  PMPI_Allreduce(&both, &worst, 1, MPI_INT, MPI_MAX, comm);
  return std::max(both, worst);
}

/// Returns `mine` of every rank that can be a target: of the remote group on an intercommunicator.
template <typename T>
std::vector<T> exchange(MPI_Comm comm, T const& mine, int ranks) {
  std::vector<T> all(static_cast<std::size_t>(ranks));
  PMPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, comm);
  return all;
}

/// The result that all processes of a communicator (both groups) have agreed on.
struct Verdict {
  int error_class = MPI_SUCCESS;
  int rank = MPI_PROC_NULL;  ///< rank that failed; MPI_PROC_NULL on an intercommunicator
  bool no_engine = false;    ///< the rank failed because its engine has not started
};

/// The error class that a process without an engine contributes to exchanges.
inline constexpr int no_engine_class = (1 << 30) + 2;

/// Conversions of an error class to and from numbers that all processes share.
int wire_class(int error_class) noexcept;
Verdict verdict_of(int wire, int rank) noexcept;

/// Collective: agrees on one failure among the classes of all processes. Needs MPI only.
Verdict agree_on_class(MPI_Comm comm, int error_class);

/// Raises the agreed failure: with the reason in `own` if that has the agreed class, else with the rank that
/// failed. Returns an MPI error code.
int raise_agreed(Site const& site, Failure const& own, Verdict const& verdict);

/// The collective form of raise_unusable(). If this process has no engine, first calls `part(comm)`, which
/// contributes no_engine_class to the exchange of this call, so that the other processes do not wait for this
/// process.
template <typename Part>
int raise_unusable_together(char const* call, MPI_Comm const* comm, Part part) {
  bool const given = comm != nullptr && *comm != MPI_COMM_NULL;
  if (given && prepare() == Readiness::no_engine) part(*comm);
  return raise_unusable(call, comm);
}

}  // namespace mpixrma
