/// The largest numbers of peers and endpoints of a process while ranks communicate in a ring. Any number of
/// ranks.
#include <mpi.h>
#include <mpix_rma.h>

#include <cstdio>
#include <vector>

#include "hosts/common/hosted.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm world = MPI_COMM_WORLD;
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  // Plain memory and an integer accumulate, to use messages and not only mappings.
  static long slot = 0;
  std::vector<long*> where(static_cast<std::size_t>(size));
  long* const mine = &slot;
  MPI_Allgather(&mine, sizeof mine, MPI_BYTE, where.data(), sizeof mine, MPI_BYTE, world);
  int const next = (rank + 1) % size;
  long one = 1;
  MPIX_RMA_Attributes attributes{};
  attributes.set = MPIX_RMA_ATTR_ATOMICITY;
  for (int i = 0; i < 10; ++i) {
    MPIX_RMA_xfer(MPIX_RMA_ACCUMULATE, &one, 1, MPI_LONG, next, where[static_cast<std::size_t>(next)], 1,
                  MPI_LONG, nullptr, &world, &attributes);
  }
  MPIX_RMA_Complete(&world, MPIX_ALL_RANKS);
  MPI_Barrier(world);
  auto const statistics = mpixrma::hosted_engine()->traffic.statistics();
  unsigned long most[2] = {statistics.peers, statistics.endpoints};
  MPI_Allreduce(MPI_IN_PLACE, most, 2, MPI_UNSIGNED_LONG, MPI_MAX, world);
  int right = slot == 10 ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, world);
  if (rank == 0) {
    std::printf("ring,mpix,peers,none,%d,0,%lu\nring,mpix,endpoints,none,%d,0,%lu\n", size, most[0], size,
                most[1]);
  }
  // One endpoint to the next process, and one for replies to the previous process.
  bool const bounded = most[0] <= 1 && most[1] <= 2;
  if (rank == 0 && !bounded)
    std::fprintf(stderr, "bench_ring: more peers or endpoints than the neighbours\n");
  MPI_Finalize();
  return right != 0 && bounded ? 0 : 1;
}
