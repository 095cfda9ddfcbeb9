/// The host on public MPI: serves the libraries through MPI's standard and its profiling interface alone, in
/// any MPI library that gives MPI_THREAD_MULTIPLE. It starts when MPI_Init has returned and ends first thing
/// in MPI_Finalize.
#pragma once

#include <mpi.h>

#include <chrono>

/// Marks the functions that init.cpp, connecting.cpp and waits.cpp call: these are in each of the libraries that
/// a program may be linked with.
#define MPIX_HOST_API __attribute__((visibility("default")))

namespace mpixrma::host {

/// Whether this host serves the process, not one inside of the MPI library.
MPIX_HOST_API bool is_chosen() noexcept;

/// After MPI_Init; collective over MPI_COMM_WORLD. Where the engine cannot start it says why when it is asked
/// for.
MPIX_HOST_API void start() noexcept;

/// Whether there are more processes than cores here, so that one that waits lets others go on. While the host
/// runs.
MPIX_HOST_API bool shares_cores() noexcept;

/// Before MPI_Init. Exits after one line where the MPI of the process is not the one that this was built for.
MPIX_HOST_API void check_library();
/// After MPI_Init, on any host. The same where the processes were started by another MPI's mpirun.
MPIX_HOST_API void check_launcher();

/// Private communicators, errors of which are returned. Valid while the host runs.
struct Communicators {
  MPI_Comm world = MPI_COMM_NULL;  ///< of all processes of MPI_COMM_WORLD
  MPI_Comm self = MPI_COMM_NULL;   ///< of this one
};
Communicators const& communicators() noexcept;

/// Drives MPI's own communication once.
void progress_mpi() noexcept;

/// Drives it until `request` is complete. False: within `patience` it is not.
bool completes(MPI_Request& request, std::chrono::seconds patience) noexcept;

}  // namespace mpixrma::host
