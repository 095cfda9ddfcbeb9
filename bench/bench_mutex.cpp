/// One mutex of process 0, which the last four processes lock and unlock as fast as they can: time per turn,
/// and the smallest, the equal and the largest share of a process in the turns, in percent. Processes in
/// between sleep: with four processes on each of two hosts, all contenders are on the other host.
///
/// usage: bench_mutex    (5 ranks or more)
#include <mpi.h>
// ARMCI-MPI's header has no C++ guard.
extern "C" {
#include <armci.h>
}

#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "bench/support/harness.hpp"

namespace {

constexpr int origins = 4;
constexpr double warm_up_seconds = 0.3;
constexpr double seconds = 2.0;

/// Returns the number of turns of this process within `duration`.
long take_turns(double duration) {
  long turns = 0;
  for (double const end = MPI_Wtime() + duration; MPI_Wtime() < end; ++turns) {
    ARMCI_Lock(0, 0);
    ARMCI_Unlock(0, 0);
  }
  return turns;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size <= origins) {
    std::fprintf(stderr, "usage: mpirun -np 5 bench_mutex\n");
    return 2;
  }
  ARMCI_Init();
  char const* const label = std::getenv("BENCH_LABEL");
  std::string const implementation = label != nullptr ? label : "armci";
  ARMCI_Create_mutexes(1);
  MPI_Barrier(MPI_COMM_WORLD);
  long mine = 0;
  if (bench::rank() < size - origins) {
    ::usleep(static_cast<unsigned>((seconds + 2 * warm_up_seconds) * 1e6));
  } else {
    // All processes contend before the turns are counted, and still do when the last one is counted.
    (void)take_turns(warm_up_seconds);
    mine = take_turns(seconds);
    (void)take_turns(warm_up_seconds);
  }
  std::vector<long> turns(static_cast<std::size_t>(size));
  MPI_Gather(&mine, 1, MPI_LONG, turns.data(), 1, MPI_LONG, 0, MPI_COMM_WORLD);
  if (bench::rank() == 0) {
    auto const total = static_cast<double>(std::accumulate(turns.begin(), turns.end(), 0L));
    auto const [least, most] = std::minmax_element(turns.end() - origins, turns.end());
    auto const print = [&](char const* what, double value) {
      bench::print({"mutex", implementation, what, "allocated", origins, 8}, value);
    };
    print("turn", seconds / total * 1e6);
    print("least_share", 100 * static_cast<double>(*least) / total);
    print("equal_share", 100.0 / origins);
    print("most_share", 100 * static_cast<double>(*most) / total);
  }
  ARMCI_Destroy_mutexes();
  ARMCI_Finalize();
  MPI_Finalize();
  return 0;
}
