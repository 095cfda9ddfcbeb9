// A program in C++, linked by a C++ compiler without Open MPI's wrapper.
#include <mpix_rma.hpp>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int const value = 10 + rank;
  int target = 0;
  mpix::put(MPI_COMM_WORLD, value, mpix::remote_ptr<int>(rank, &target));
  mpix::complete(MPI_COMM_WORLD, rank);
  MPI_Finalize();
  return target == value ? 0 : 1;
}
