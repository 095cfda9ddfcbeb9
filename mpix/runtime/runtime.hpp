/// The library's state in this process between MPI_Init and MPI_Finalize.
#pragma once

#include <mpi.h>

#include <string>

#include "engine/runtime/engine.hpp"
#include "mpix/runtime/visibility.hpp"

namespace mpixrma {

/// Whether calls can be served, or the reason why not.
enum class Readiness { ready, not_initialised, finalised, no_engine, forked };

#ifdef OPEN_MPI
/// Runs automatically when the library is loaded.
void make_component_known();

/// Returns the reason why Open MPI has not started the component, as the second half of a sentence.
std::string why_no_component();
#endif

/// Returns a sentence, without a period, that says that the library did not start in this process, and why.
MPIX_INTERNAL_API std::string why_no_engine();

/// Whether this process was made by fork() from one in which the library was loaded. MPI belongs to the
/// parent.
MPIX_INTERNAL_API bool is_forked() noexcept;

/// Initialises the library at the first call after MPI_Init; cheap afterwards.
Readiness prepare();

/// Whether prepare() has returned ready and MPI_Finalize has not begun.
bool is_prepared() noexcept;

/// Opens the engine of this process if it has none, because the library was loaded after MPI_Init. Called
/// before a collective call of MPI, after which the engines of the processes in that call reach each other.
MPIX_INTERNAL_API void open_engine();

/// The keyval that attaches the library's state to communicators, valid once prepare() has returned ready,
/// and the error classes, valid once it has returned ready or no_engine.
struct RuntimeKeys {
  int communicator = MPI_KEYVAL_INVALID;
  int address_class = MPI_ERR_OTHER;
  int transport_class = MPI_ERR_OTHER;
  int notification_class = MPI_ERR_ARG;
};
RuntimeKeys const& keys() noexcept;

}  // namespace mpixrma
