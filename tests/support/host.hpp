/// The host that serves the test.
#pragma once

#include <mpi.h>

#include <cstdlib>
#include <string_view>

namespace mpixrma::test {

/// Whether the host is the one on public MPI, some of whose answers differ (docs/hosts.md).
inline bool on_public_mpi() {
#ifdef OPEN_MPI
  char const* const chosen = std::getenv("MPIX_HOST");
  return chosen != nullptr && std::string_view(chosen) == "public";
#else
  return true;
#endif
}

}  // namespace mpixrma::test
