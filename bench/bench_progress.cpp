/// A target that computes for a second outside of MPI: time until an addition to an integer in its plain
/// memory completes there, and the cost of an idle process's agent.
///
/// usage: bench_progress mpix|window    (2 ranks)
#include <mpi.h>
#include <mpix_rma.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "bench/support/harness.hpp"

namespace {

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  auto const seconds = [](timeval const& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void compute_for(double seconds) {
  double const start = MPI_Wtime();
  while (MPI_Wtime() - start < seconds) {
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm world = MPI_COMM_WORLD;
  std::string const kind = argc > 1 ? argv[1] : "mpix";
  char const* const label = std::getenv("BENCH_LABEL");
  std::string const implementation = label != nullptr ? label : kind;
  static long memory[8];
  MPI_Win window = MPI_WIN_NULL;
  if (kind == "window") {
    MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, world, &window);
    MPI_Win_lock_all(0, window);
  }
  MPI_Aint target = 0;
  MPI_Get_address(memory, &target);
  MPI_Bcast(&target, 1, MPI_AINT, 1, world);
  long const addend = 1;
  MPIX_RMA_Attributes attributes{};
  attributes.set = MPIX_RMA_ATTR_BLOCKING | MPIX_RMA_ATTR_REMOTE_COMPLETION;
  for (int round = 0; round < 3; ++round) {
    MPI_Barrier(world);
    if (bench::rank() == 1) {
      compute_for(1.0);
    } else if (bench::rank() == 0) {
      usleep(100000);
      double const start = MPI_Wtime();
      if (kind == "window") {
        MPI_Accumulate(&addend, 1, MPI_LONG, 1, 0, 1, MPI_LONG, MPI_SUM, window);
        MPI_Win_flush(1, window);
      } else {
        // Only the target's agent can update a single integer in plain memory: that needs CPU atomics.
        MPIX_RMA_rmw(MPIX_RMW_SUM, &addend, 1, MPI_LONG, nullptr, 1, target, nullptr, &world, &attributes);
      }
      if (round == 2)
        std::printf("progress,%s,accumulate,heap,1,8,%.5f\n", implementation.c_str(),
                    (MPI_Wtime() - start) * 1e6);
    }
    MPI_Barrier(world);
  }
  if (kind == "mpix") {
    double const before = cpu_seconds();
    sleep(2);
    double const used = cpu_seconds() - before;
    if (bench::rank() == 0)
      std::printf("idle,%s,cpu_per_second,none,1,0,%.5f\n", implementation.c_str(), used / 2 * 1e6);
    MPI_Barrier(world);
  } else {
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
  }
  MPI_Finalize();
  return 0;
}
