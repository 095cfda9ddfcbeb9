/// ARMCI_Init when some processes cannot take part: it fails at all processes, and none of them hangs.
/// usage: init_failure no-component | no-memory | no-threads
#include <mpi.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "include/armci/armci.h"
#include "tests/support/slowness.hpp"

namespace {

int in(MPI_Comm comm, int (*ask)(MPI_Comm, int*)) {
  int value = 0;
  ask(comm, &value);
  return value;
}

/// Makes allocations fail in the processes of the hosts other than that of rank 0, or in the last process if
/// there is only one host. Returns false if the last process is alone on its host: then it needs no memory.
bool take_memory_away() {
  MPI_Comm host = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  int lowest = in(MPI_COMM_WORLD, MPI_Comm_rank);
  MPI_Allreduce(MPI_IN_PLACE, &lowest, 1, MPI_INT, MPI_MIN, host);
  int const size = in(MPI_COMM_WORLD, MPI_Comm_size);
  int needed = in(host, MPI_Comm_size) > 1 ? 1 : 0;
  MPI_Bcast(&needed, 1, MPI_INT, size - 1, MPI_COMM_WORLD);
  bool const one_host = in(host, MPI_Comm_size) == size;
  bool const last = in(MPI_COMM_WORLD, MPI_Comm_rank) == size - 1;
  MPI_Comm_free(&host);
  if (one_host ? !last : lowest == 0) return needed != 0;
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit const none{0, 0};
  setrlimit(RLIMIT_FSIZE, &none);
  return needed != 0;
}

/// MPI runs below the requested level at every process but the first. Returns whether the initialisations
/// have the right results.
bool needs_threads_everywhere(int provided) {
  bool right = ARMCI_Init_thread(MPI_THREAD_MULTIPLE) != 0 && ARMCI_Initialized() == 0;
  right = right && ARMCI_Init_thread(MPI_THREAD_SINGLE) == 0;
  bool const permitted = provided >= MPI_THREAD_MULTIPLE;
  right = right && (ARMCI_Init_thread(MPI_THREAD_MULTIPLE) == 0) == permitted;
  if (permitted) right = ARMCI_Finalize() == 0 && right;
  return ARMCI_Finalize() == 0 && ARMCI_Initialized() == 0 && right;
}

int report(std::string const& missing, bool right) {
  if (!right) std::fprintf(stderr, "ARMCI_Init with %s: wrong result\n", missing.c_str());
  MPI_Finalize();
  return right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::string const missing = argc == 2 ? argv[1] : "";
  ::alarm(300 * mpixrma::test::slowness);  // a hang ends the process, and mpirun the job
  char const* const rank = std::getenv("OMPI_COMM_WORLD_RANK");
  if (missing == "no-component" && rank != nullptr && std::atoi(rank) == 1)
    ::setenv("OMPI_MCA_osc", "^mpix", 1);
  bool const is_first = rank == nullptr || std::atoi(rank) == 0;
  bool const many = missing == "no-threads" && is_first;
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, many ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  if (missing == "no-threads") return report(missing, needs_threads_everywhere(provided));
  bool const fails = missing != "no-memory" || take_memory_away();
  return report(missing, fails != (ARMCI_Init() == 0) && fails != (ARMCI_Initialized() != 0));
}
