/// The MPI host on public MPI: uses only MPI's standard and profiling interfaces (and, in MPICH, its extended
/// generalized requests), so it works with any MPI library that provides MPI_THREAD_MULTIPLE. It starts when
/// MPI_Init has returned and ends at the start of MPI_Finalize.
#pragma once

#include <mpi.h>

#include <chrono>

/// Marks the functions that init.cpp, connecting.cpp and waits.cpp call. Those files are part of each library
/// that a program may be linked with.
#define MPIX_HOST_API __attribute__((visibility("default")))

namespace mpixrma::host {

/// Returns whether this MPI host serves the process, rather than an MPI host inside the MPI library.
MPIX_HOST_API bool is_chosen() noexcept;

/// Call after MPI_Init; collective over MPI_COMM_WORLD. If the engine cannot start, records the reason for
/// mpix_host_unavailable_reason().
MPIX_HOST_API void start() noexcept;

/// Returns whether this MPI host has started and not ended, with an engine or without.
MPIX_HOST_API bool is_running() noexcept;

/// Returns whether this machine runs more processes of the job than it has cores, so that a waiting process
/// should yield. Valid while the MPI host runs.
MPIX_HOST_API bool shares_cores() noexcept;

/// Call before MPI_Init. Prints one line and exits if the process uses an MPI library other than the one that
/// this library was built for.
MPIX_HOST_API void check_library();
/// Call after MPI_Init, whether or not this MPI host is chosen. Prints one line and exits if another MPI's
/// mpirun started the processes.
MPIX_HOST_API void check_launcher();

/// Private communicators that return errors. Valid while the MPI host runs.
struct Communicators {
  MPI_Comm world = MPI_COMM_NULL;  ///< all processes of MPI_COMM_WORLD
  MPI_Comm self = MPI_COMM_NULL;   ///< this process only
};
Communicators const& communicators() noexcept;

/// Drives MPI's own progress once.
void progress_mpi() noexcept;

/// Drives MPI's progress until `request` completes. Returns false after `timeout`.
bool completes(MPI_Request& request, std::chrono::seconds timeout) noexcept;

}  // namespace mpixrma::host
