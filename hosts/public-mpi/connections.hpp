/// Processes that MPI connects after its start: spawned, accepted, joined.
#pragma once

#include <mpi.h>

#include "hosts/public-mpi/host.hpp"

namespace mpixrma::host {

/// Collective over an intercommunicator that MPI has just made to processes of other jobs: afterwards each is
/// a possible target of each. Where some do not take part in time, because they are not linked with the
/// library, it says so, and none is. Before the host runs and after, nothing.
MPIX_HOST_API void meet(MPI_Comm inter) noexcept;

/// The same for an intercommunicator to any processes: nothing is to be done where all are of one job.
MPIX_HOST_API void meet_strangers(MPI_Comm inter) noexcept;

/// Whether all processes of the communicator have the library for certain, because they were started with
/// this one. All of them find the same.
MPIX_HOST_API bool all_are_linked(MPI_Comm comm) noexcept;

/// While one lives, communicators that this thread takes from MPI disconnect their processes, which are
/// forgotten: after MPI_Comm_free they are still connected.
class MPIX_HOST_API Disconnection {
 public:
  Disconnection() noexcept;
  Disconnection(Disconnection const&) = delete;
  Disconnection& operator=(Disconnection const&) = delete;
  ~Disconnection();
};

}  // namespace mpixrma::host
