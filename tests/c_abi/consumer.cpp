// A program in C++, linked by a C++ compiler without Open MPI's wrapper.
#include <mpix_rma.hpp>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm world = MPI_COMM_WORLD;
  int rank = 0;
  MPI_Comm_rank(world, &rank);
  int const value = 10 + rank;
  int origin = value;
  int target = 0;
  int code = MPIX_RMA_xfer(MPIX_RMA_PUT, &origin, 1, MPI_INT, rank, &target, 1, MPI_INT, nullptr, &world);
  if (code == MPI_SUCCESS) code = MPIX_RMA_Complete(&world, rank);
  MPI_Finalize();
  return code == MPI_SUCCESS && target == value ? 0 : 1;
}
