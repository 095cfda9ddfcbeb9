// The snippets of docs/cpp.md in one program, which checks what they do.
#include <mpix_rma.hpp>

#include <cstdio>
#include <vector>

#define REQUIRE(condition)                                         \
  do {                                                             \
    if (!(condition)) {                                            \
      std::fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
      MPI_Abort(MPI_COMM_WORLD, 1);                                \
    }                                                              \
  } while (0)

void program(int rank, int size) {
  int const next = (rank + 1) % size;
  int const previous = (rank + size - 1) % size;
  // snippet 1
  MPI_Barrier(comm);
  REQUIRE(memory[20] == previous && memory[29] == previous);

  std::vector<double> matrix(100, 0.5);
  MPI_Barrier(comm);
  // snippet 2
  REQUIRE(values[0] == 0.5 && values[9] == 0.5);
  mpix::complete(comm);

  MPI_Comm comm_ordered = MPI_COMM_NULL;
  MPI_Comm_dup(comm, &comm_ordered);
  mpix::set_num_notify(comm, 1);
  // snippet 3
  REQUIRE(mpix::get_attributes(comm_ordered) == mpix::attributes{.ordering = true});
  mpix::wait_notify_value(comm, 0, 1).wait();
  MPI_Comm_free(&comm_ordered);

  auto counters = mpix::allocate<long>(comm, 4);
  std::fill(counters.begin(), counters.end(), 0);
  MPI_Barrier(comm);
  long const mask = 1L << rank;
  // snippet 4
  mpix::complete(comm);
  MPI_Barrier(comm);
  REQUIRE(item >= 0 && item < size && largest <= size);
  REQUIRE(swapped == (expected == 0));
  if (rank == 0) REQUIRE(counters[0] == size && counters[1] == 7 && counters[2] == size - 1);
  if (rank == 0) REQUIRE(counters[3] == (1L << size) - 1);
  MPI_Barrier(comm);

  std::vector<double> received(10);
  // snippet 5
  REQUIRE(!requests[0].is_active());

  MPI_Errhandler usual = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(comm, &usual);
  // snippet 6
  REQUIRE(before && *before >= size);
  MPI_Comm_set_errhandler(comm, usual);
  MPI_Errhandler_free(&usual);
  mpix::complete(comm);
  MPI_Barrier(comm);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  program(rank, size);
  MPI_Finalize();
  return 0;
}
