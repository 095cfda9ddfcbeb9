/// Intercommunicators that represent a persistent window at a memory server: handles on which MPI rejects
/// every call but those in mpix/nam/connect.cpp.
#pragma once

#include <mpi.h>

#include <optional>

#include "mpix/nam/windows.hpp"

namespace mpixrma {

struct NamConnection {
  MPI_Comm origins = MPI_COMM_NULL;  ///< the connected processes
  int ranks = 0;                     ///< number of processes that created the window
  NamPort window;
};

/// Whether a port name (may be null) is one of a memory server.
bool is_nam_port(char const* port) noexcept;

/// Creates a handle that represents `window`. Collective over `comm`. Returns MPI_COMM_NULL if MPI cannot
/// create the communicators.
MPI_Comm make_connection(MPI_Comm comm, int ranks, NamPort const& window);
/// Returns nothing if the handle, of any kind, does not represent a window.
std::optional<NamConnection> connection_of(MPI_Comm handle);
/// Frees a handle of make_connection(). Collective over the connected processes.
void end_connection(MPI_Comm* handle);

}  // namespace mpixrma
