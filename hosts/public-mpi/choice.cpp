/// The choice of the MPI host, and the check that the process uses the intended MPI library.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "hosts/common/hosted.h"
#include "hosts/public-mpi/host.hpp"

namespace mpixrma::host {

namespace {

#ifdef OPEN_MPI
constexpr std::string_view built_for = "Open MPI";
constexpr char const* size_elsewhere = "PMI_SIZE";  ///< set by mpirun of MPICH and its derivatives
constexpr char const* size_here = "OMPI_COMM_WORLD_SIZE";
#elif defined(MPICH_VERSION)
constexpr std::string_view built_for = "MPICH";
constexpr char const* size_elsewhere = "OMPI_COMM_WORLD_SIZE";
constexpr char const* size_here = "PMI_SIZE";
#else
constexpr std::string_view built_for = "";  // any
constexpr char const* size_elsewhere = nullptr;
constexpr char const* size_here = nullptr;
#endif

#ifdef OPEN_MPI
bool read_choice() noexcept {
  char const* const choice = std::getenv("MPIX_HOST");
  std::string_view const word = choice != nullptr ? choice : "";
  if (!word.empty() && word != "component" && word != "public")
    std::fprintf(stderr, "MPIX_RMA: MPIX_HOST is \"%s\"; expected component or public\n", choice);
  return mpix_host_is_public() != 0;
}
#endif

}  // namespace

bool is_chosen() noexcept {
#ifdef OPEN_MPI
  static bool const chosen = read_choice();
  return chosen;
#else
  return true;
#endif
}

void check_library() {
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  PMPI_Get_library_version(version, &length);
  if (std::string_view(version).find(built_for) != std::string_view::npos) return;
  version[std::strcspn(version, ",\n")] = '\0';
  std::replace(version, version + sizeof version, '\t', ' ');
  std::fprintf(stderr, "MPIX_RMA: this library was built for %s, and the program is linked with %s\n",
               built_for.data(), version);
  std::_Exit(EXIT_FAILURE);
}

void check_launcher() {
  char const* const elsewhere = size_elsewhere != nullptr ? std::getenv(size_elsewhere) : nullptr;
  int size = 0;
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size != 1 || elsewhere == nullptr || std::atoi(elsewhere) <= 1) return;
  if (std::getenv(size_here) != nullptr) return;  // a singleton within a job of another MPI
  std::fprintf(stderr,
               "MPIX_RMA: the program is linked with %s but was started by another MPI's mpirun (%s=%s): "
               "the processes cannot communicate\n",
               built_for.data(), size_elsewhere, elsewhere);
  std::_Exit(EXIT_FAILURE);
}

}  // namespace mpixrma::host
