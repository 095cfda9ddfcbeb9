/// A library that is loaded before MPIX_RMA and Open MPI and breaks the promise of one clause about windows
/// at a memory server: the one that the environment variable MPIX_BROKEN_CLAUSE names. Calls of MPI that
/// MPIX_RMA replaces are passed on to it.
#pragma once

#include <mpi.h>

#include <map>
#include <string>

#include "include/mpix_rma.h"
#include "spec-conformance/mutations/calls_on_windows.hpp"
#include "spec-conformance/mutations/clause.hpp"
#include "spec-conformance/mutations/next_definition.hpp"

namespace mpixrma::broken {

/// A window at a memory server, as this process has made it.
struct Made {
  MPI_Aint bytes = 0;      ///< of this process
  bool is_flat = false;    ///< one process alone has brought memory
  bool by_call = false;    ///< made by MPIX_Win_connect
  bool is_shared = false;  ///< another window has been connected to its memory
  bool is_started = false;
  std::string port;
  MPI_Comm handle = MPI_COMM_NULL;  ///< of MPI_Comm_connect, from which the window was made
};
/// By window; a window without an entry has the default values.
extern std::map<MPI_Win, Made> made;

/// The handles of MPI_Comm_connect.
struct Handle {
  int connecting = 0;  ///< number of processes that have connected together
  int windows = 0;     ///< made from it so far
};
extern std::map<MPI_Comm, Handle> handles;

}  // namespace mpixrma::broken
