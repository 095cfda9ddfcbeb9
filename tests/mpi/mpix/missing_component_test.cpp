/// A process in which Open MPI did not start the component: collective calls fail at all processes, and none
/// of them hangs.
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "include/mpix_rma.h"
#include "tests/support/communicatable.hpp"
#include "tests/support/slowness.hpp"

namespace {

constexpr unsigned hang_seconds = 300 * mpixrma::test::slowness;
constexpr int without = 1;  ///< the rank without the component

int failures = 0;
int rank = 0;
int transport_class = 0;

void expect(int line, int code, int error_class, char const* word) {
  int found = code;
  MPI_Error_class(code, &found);
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  if (found == error_class && std::strstr(text, word) != nullptr) return;
  std::fprintf(stderr, "rank %d, line %d: class %d instead of %d, text \"%s\" without \"%s\"\n", rank, line,
               found, error_class, text, word);
  ++failures;
}
#define EXPECT(code, error_class, word) expect(__LINE__, code, error_class, word)

/// Makes the collective call that is allowed on intracommunicators and intercommunicators.
void call_together(MPI_Comm comm, char const* word) {
  EXPECT(mpixrma::test::rma_set_num_notify(comm, 2), transport_class, word);
}

/// Makes the calls on an intercommunicator between even and odd ranks.
void call_between_groups() {
  MPI_Comm group = MPI_COMM_NULL;
  MPI_Comm both = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &group);
  MPI_Intercomm_create(group, 0, MPI_COMM_WORLD, 1 - rank % 2, 0, &both);
  MPI_Comm_set_errhandler(both, MPI_ERRORS_RETURN);
  call_together(both, "osc/mpix");
  if (rank != without) {
    std::vector<void*> bases(8);
    EXPECT(mpixrma::test::rma_allocate(64, MPI_INFO_NULL, both, bases.data()), MPI_ERR_COMM,
           "intercommunicator");
  }
  MPI_Comm_free(&both);
  MPI_Comm_free(&group);
}

}  // namespace

int main(int argc, char** argv) {
  char const* const me = std::getenv("OMPI_COMM_WORLD_RANK");
  if (me != nullptr && std::atoi(me) == without) ::setenv("OMPI_MCA_osc", "^mpix", 1);
  ::alarm(hang_seconds);
  MPI_Init(&argc, &argv);
  MPI_Comm world = MPI_COMM_WORLD;
  MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
  int size = 0;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);

  int address_class = 0;
  if (MPIX_RMA_Error_class(MPIX_RMA_ERR_ADDRESS, &address_class) != MPI_SUCCESS) ++failures;
  if (MPIX_RMA_Error_class(MPIX_RMA_ERR_TRANSPORT, &transport_class) != MPI_SUCCESS) ++failures;

  std::vector<void*> bases(static_cast<std::size_t>(size));
  char const* const word = rank == without ? "in this process; osc excludes mpix" : "at rank 1";
  EXPECT(mpixrma::test::rma_allocate(64, MPI_INFO_NULL, world, bases.data()), transport_class, word);
  EXPECT(mpixrma::test::rma_free(nullptr, world), transport_class, word);
  call_together(world, word);
  call_between_groups();

  int value = 0;
  if (rank == without) {
    EXPECT(MPIX_RMA_Complete(&world, 0), transport_class, "MPIX_RMA_Complete: ");
    EXPECT(mpixrma::test::rma_register(&value, sizeof value), transport_class, "MPIX_RMA_Register: ");
  } else {
    EXPECT(MPIX_RMA_xfer(MPIX_RMA_PUT, &value, 1, MPI_INT, without, &value, 1, MPI_INT, nullptr, &world,
                         nullptr),
           transport_class, "rank 1");
  }
  int all = 0;
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, world);
  MPI_Finalize();
  return all == 0 ? 0 : 1;
}
