/// The library's state in this process between MPI_Init and MPI_Finalize.
#pragma once

#include <mpi.h>

#include <string>

#include "engine/runtime/engine.hpp"
#include "mpix/visibility.hpp"

namespace mpixrma {

/// Why a call cannot be served at all.
enum class Readiness { ready, not_initialised, finalised, no_host, forked };

#ifdef OPEN_MPI
/// Runs by itself before main().
void make_component_known();

/// Why Open MPI has not started the component, as the end of a sentence that says that it has not.
std::string why_no_component();
#endif

/// A sentence without a period: that no host serves this process, and why.
MPIX_WAIST_API std::string why_no_host();

/// Whether this process was made by fork() from one in which the library had been loaded: MPI is its
/// parent's.
MPIX_WAIST_API bool is_forked() noexcept;

/// Sets up the library at the first call after MPI_Init; cheap afterwards.
Readiness prepare();

/// The keyval that ties our state to communicators, valid once prepare() returned ready, and error classes,
/// valid once it returned ready or no_host.
struct RuntimeKeys {
  int communicator = MPI_KEYVAL_INVALID;
  int address_class = MPI_ERR_OTHER;
  int transport_class = MPI_ERR_OTHER;
  int notification_class = MPI_ERR_ARG;
};
RuntimeKeys const& keys() noexcept;

}  // namespace mpixrma
