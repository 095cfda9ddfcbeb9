/// What collective calls have in common.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <vector>

namespace mpix {

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

}  // namespace mpix
