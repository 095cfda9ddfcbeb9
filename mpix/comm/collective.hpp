/// What collective calls have in common.
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

/// The largest code of all processes of the communicator (of both groups), so that all of them see a failure.
inline int agree(MPI_Comm comm, int code) {
  int inter = 0;
  MPI_Comm_test_inter(comm, &inter);
  int worst = code;
  PMPI_Allreduce(&code, &worst, 1, MPI_INT, MPI_MAX, comm);
  if (inter == 0) return worst;
  // Between groups each gets the other's result: a second exchange brings back the own group's.
  int const both = std::max(code, worst);
  PMPI_Allreduce(&both, &worst, 1, MPI_INT, MPI_MAX, comm);
  return std::max(both, worst);
}

/// `mine` of every rank that can be a target: of the remote group on an intercommunicator.
template <typename T>
std::vector<T> exchange(MPI_Comm comm, T const& mine, int ranks) {
  std::vector<T> all(static_cast<std::size_t>(ranks));
  PMPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, comm);
  return all;
}

/// What all processes of a communicator (of both groups) have agreed on.
struct Verdict {
  int error_class = MPI_SUCCESS;
  int rank = MPI_PROC_NULL;  ///< where it failed; MPI_PROC_NULL on an intercommunicator
  bool no_host = false;      ///< because no host serves that process
};

/// In exchanges: the transport class of a process that no host serves.
inline constexpr int no_host_class = (1 << 30) + 2;

/// An error class as other processes understand it, and back.
int wire_class(int error_class) noexcept;
Verdict verdict_of(int wire, int rank) noexcept;

/// Collective: one failure of all processes' classes. Needs MPI only.
Verdict agree_on_class(MPI_Comm comm, int error_class);

/// Raises what was agreed on: with the own reason where that is it, else with the rank. MPI error code.
int raise_agreed(Site const& site, Failure const& own, Verdict const& verdict);

/// raise_unusable() for collective calls: where it is this process alone that cannot serve the call, it takes
/// its `part(comm)` in the exchange, in which it shows no_host_class, so that the others do not wait for it.
template <typename Part>
int raise_unusable_together(char const* call, MPI_Comm const* comm, Part part) {
  bool const given = comm != nullptr && *comm != MPI_COMM_NULL;
  if (given && prepare() == Readiness::no_host) part(*comm);
  return raise_unusable(call, comm);
}

}  // namespace mpixrma
