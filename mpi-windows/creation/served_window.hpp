/// Windows whose memory is at a memory server. One process sends the request to the server for all.
#pragma once

#include <mpi.h>

#include "mpi-windows/state/window.hpp"

namespace mpixrma::windows {

int allocate_at_server(Window& window, MPI_Comm comm);
/// As open_window(), for an existing window at a memory server: the one with the port name in the hints. The
/// targets are the ranks of the processes that created the window; the processes of `comm` are not targets.
int connect_window(Window& window, MPI_Comm comm);
/// As connect_window() of the other processes, at a process that has no memory for the window.
int fail_to_connect(MPI_Comm comm, int error_class);
/// Releases the memory at the server.
void release_nam(Window& window) noexcept;
/// Throws NamError.
void persist(Window& window);

}  // namespace mpixrma::windows
