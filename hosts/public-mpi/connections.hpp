/// Processes that MPI connects after its initialisation: spawned, accepted, joined.
#pragma once

#include <mpi.h>

#include "hosts/public-mpi/host.hpp"

namespace mpixrma::host {

/// Collective over an intercommunicator that MPI has just created to processes of other jobs: afterwards the
/// processes of each side can be targets of the other side's. If some processes do not take part in time,
/// because they are not linked with the library, prints a warning, and none becomes a target. Does nothing
/// while the MPI host is not running.
MPIX_HOST_API void exchange_addresses(MPI_Comm inter) noexcept;

/// As exchange_addresses(), for an intercommunicator to any processes. Does nothing if all of them belong to
/// one job.
MPIX_HOST_API void exchange_addresses_between_jobs(MPI_Comm inter) noexcept;

/// Returns whether all processes of the communicator certainly have the library, because they were started
/// with this process. The result is the same at all of them.
MPIX_HOST_API bool all_are_linked(MPI_Comm comm) noexcept;

/// While an object of this class exists, a communicator that this thread frees is disconnected: the addresses
/// of its remote group are dropped. After a plain MPI_Comm_free the processes are still connected.
class MPIX_HOST_API DisconnectScope {
 public:
  DisconnectScope() noexcept;
  DisconnectScope(DisconnectScope const&) = delete;
  DisconnectScope& operator=(DisconnectScope const&) = delete;
  ~DisconnectScope();
};

}  // namespace mpixrma::host
