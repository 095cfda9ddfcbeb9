/// MPI calls that the MPI host intercepts: those that initialise MPI, and the one that frees requests. Both
/// names (MPI_ and PMPI_) are defined, because Fortran bindings may call either. Each forwards to the next
/// definition of the name: MPI's own, or a tool's. If this MPI host is chosen, both names of MPI_Init forward
/// to PMPI_Init_thread.
#include <mpi.h>

#include "hosts/public-mpi/host.hpp"
#include "hosts/public-mpi/next.hpp"
#include "hosts/public-mpi/requests.hpp"

namespace {

using mpixrma::host::next;

/// Raises the thread level, because a thread of the library completes requests.
template <typename Init>
int init(Init pass_on, int* argc, char*** argv, int required, int* provided) {
  bool const chosen = mpixrma::host::is_chosen();
  if (chosen) mpixrma::host::check_library();
  int const code = pass_on(argc, argv, chosen ? MPI_THREAD_MULTIPLE : required, provided);
  // A wrong mpirun starts processes that cannot see each other, even if the MPI host is inside the MPI
  // library.
  if (code == MPI_SUCCESS) chosen ? mpixrma::host::start() : mpixrma::host::check_launcher();
  return code;
}

int init_plain(char const* name, int* argc, char*** argv) {
  if (!mpixrma::host::is_chosen()) {
    int const code = next(&MPI_Init, name)(argc, argv);
    if (code == MPI_SUCCESS) mpixrma::host::check_launcher();
    return code;
  }
  int provided = MPI_THREAD_SINGLE;
  return init(next(&MPI_Init_thread, "PMPI_Init_thread"), argc, argv, MPI_THREAD_MULTIPLE, &provided);
}

}  // namespace

extern "C" {

MPIX_HOST_INTERCEPT int MPI_Init(int* argc, char*** argv) { return init_plain("MPI_Init", argc, argv); }
MPIX_HOST_INTERCEPT int PMPI_Init(int* argc, char*** argv) { return init_plain("PMPI_Init", argc, argv); }

MPIX_HOST_INTERCEPT int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  return init(next(&MPI_Init_thread, "MPI_Init_thread"), argc, argv, required, provided);
}
MPIX_HOST_INTERCEPT int PMPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  return init(next(&MPI_Init_thread, "PMPI_Init_thread"), argc, argv, required, provided);
}

MPIX_HOST_INTERCEPT int MPI_Request_free(MPI_Request* request) {
  static auto* const pass_on = next(&MPI_Request_free, "MPI_Request_free");
  if (request != nullptr) mpixrma::host::request_freed(*request);
  return pass_on(request);
}
MPIX_HOST_INTERCEPT int PMPI_Request_free(MPI_Request* request) {
  static auto* const pass_on = next(&MPI_Request_free, "PMPI_Request_free");
  if (request != nullptr) mpixrma::host::request_freed(*request);
  return pass_on(request);
}
}
