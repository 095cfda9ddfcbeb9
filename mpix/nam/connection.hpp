/// Intercommunicators that stand for a persistent window at a memory server: handles on which MPI refuses
/// every call but those that stand in mpix/nam/connect.cpp.
#pragma once

#include <mpi.h>

#include <optional>

#include "mpix/nam/windows.hpp"

namespace mpixrma {

struct NamConnection {
  MPI_Comm origins = MPI_COMM_NULL;  ///< the processes that are connected
  int ranks = 0;                     ///< of those who have made the window
  NamPort window;
};

/// Whether a port name, which may be null, is one of a memory server.
bool is_nam_port(char const* port) noexcept;

/// Collective over `comm`. MPI_COMM_NULL: MPI had no communicators for it.
MPI_Comm make_connection(MPI_Comm comm, int ranks, NamPort const& window);
/// Nothing where the handle, of any kind, is none of these.
std::optional<NamConnection> connection_of(MPI_Comm handle);
/// Collective.
void end_connection(MPI_Comm* handle);

}  // namespace mpixrma
