/// Two origins on one counter: time per fetch-and-add while both add as fast as they can. The sum must be
/// exact.
///
/// usage: bench_contended mpix|window    (2 ranks)
#include <mpi.h>
#include <mpix_rma.h>

#include <cstring>
#include <string>

#include "bench/support/harness.hpp"

namespace {

MPI_Comm world = MPI_COMM_WORLD;
constexpr long rounds = 200000;

long add_mpix(long* counter, MPI_Win) {
  long one = 1;
  long result = 0;
  static MPIX_RMA_Attributes blocking{MPIX_RMA_ATTR_BLOCKING, MPI_OP_NULL, nullptr, 0};
  MPIX_RMA_rmw(MPIX_RMW_SUM, &one, 1, MPI_LONG, &result, 0, reinterpret_cast<MPI_Aint>(counter), nullptr,
               &world, &blocking);
  return result;
}

long add_window(long*, MPI_Win window) {
  long one = 1;
  long result = 0;
  MPI_Fetch_and_op(&one, &result, MPI_LONG, 0, 0, MPI_SUM, window);
  MPI_Win_flush(0, window);
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  std::string const kind = argc > 1 ? argv[1] : "";
  if (!bench::has_two_processes() || (kind != "mpix" && kind != "window"))
    return bench::refuse("bench_contended mpix|window");
  bool const mpix = kind == "mpix";
  void* bases[2] = {nullptr, nullptr};
  MPI_Win window = MPI_WIN_NULL;
  if (mpix) {
    MPIX_RMA_Allocate(64, MPI_INFO_NULL, world, nullptr, bases);
  } else {
    MPI_Win_allocate(64, 1, MPI_INFO_NULL, world, &bases[bench::rank()], &window);
    MPI_Win_lock_all(0, window);
  }
  std::memset(bases[bench::rank()], 0, 64);
  auto* const counter = static_cast<long*>(bases[0]);
  auto const add = mpix ? &add_mpix : &add_window;
  MPI_Barrier(world);
  double const start = MPI_Wtime();
  for (long i = 0; i < rounds; ++i) add(counter, window);
  double elapsed = MPI_Wtime() - start;
  double slowest = 0;
  MPI_Reduce(&elapsed, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, world);
  MPI_Barrier(world);
  bench::Case const what{"contended", bench::label_or(kind), "fetch_add", "allocated", 1, 8};
  if (bench::rank() == 0) {
    long one_more = add(counter, window);
    bench::require(one_more == 2 * rounds, what);
    bench::print(what, slowest / (2.0 * rounds) * 1e6);
  }
  MPI_Barrier(world);
  if (mpix) {
    MPIX_RMA_Free(bases[bench::rank()], world);
  } else {
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
  }
  MPI_Finalize();
  return 0;
}
