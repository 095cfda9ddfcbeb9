/// Latency and bandwidth in the form of the OSU benchmarks, by MPIX_RMA and by MPI windows.
///
/// usage: bench_osu mpix|window [--quick|--dense]    (2 ranks)
#include <mpi.h>
#include <mpix_rma.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/support/osu.hpp"

namespace {

MPI_Comm world = MPI_COMM_WORLD;

int doubles(std::size_t bytes) { return static_cast<int>(bytes / sizeof(double)); }

class Mpix {
 public:
  static constexpr char const* name = "mpix";
  Mpix() {
    MPIX_RMA_Allocate(bench::target_offset + bench::osu_largest, MPI_INFO_NULL, world, nullptr, bases_);
    target_ = static_cast<char*>(bases_[1]) + bench::target_offset;
  }
  ~Mpix() { MPIX_RMA_Free(bases_[bench::rank()], world); }
  Mpix(Mpix const&) = delete;
  Mpix& operator=(Mpix const&) = delete;
  void put(std::size_t bytes) { transfer(MPIX_RMA_PUT, bytes); }
  void get(std::size_t bytes) { transfer(MPIX_RMA_GET, bytes); }
  void accumulate(std::size_t bytes) { transfer(MPIX_RMA_ACCUMULATE, bytes); }
  void fetch_add() {
    MPIX_RMA_rmw(MPIX_RMW_SUM, &one_, 1, MPI_INT64_T, &fetched_, 1, reinterpret_cast<MPI_Aint>(target_),
                 nullptr, &world, nullptr);
    complete();
  }
  void complete() { MPIX_RMA_Complete(&world, 1); }

 private:
  void transfer(MPIX_RMA_Op operation, std::size_t bytes) {
    int const count = doubles(bytes);
    MPIX_RMA_xfer(operation, origin_.data(), count, MPI_DOUBLE, 1, target_, count, MPI_DOUBLE, nullptr,
                  &world, nullptr);
  }
  void* bases_[2];
  char* target_;
  std::int64_t one_ = 1, fetched_ = 0;
  std::vector<double> origin_ = std::vector<double>(bench::osu_largest / sizeof(double), 1.0);
};

class Window {
 public:
  static constexpr char const* name = "window";
  Window() {
    MPI_Win_allocate(bench::target_offset + bench::osu_largest, 1, MPI_INFO_NULL, world, &base_, &window_);
    MPI_Win_lock_all(0, window_);
  }
  ~Window() {
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
  }
  Window(Window const&) = delete;
  Window& operator=(Window const&) = delete;
  void put(std::size_t bytes) {
    MPI_Put(origin_.data(), doubles(bytes), MPI_DOUBLE, 1, bench::target_offset, doubles(bytes), MPI_DOUBLE,
            window_);
  }
  void get(std::size_t bytes) {
    MPI_Get(origin_.data(), doubles(bytes), MPI_DOUBLE, 1, bench::target_offset, doubles(bytes), MPI_DOUBLE,
            window_);
  }
  void accumulate(std::size_t bytes) {
    MPI_Accumulate(origin_.data(), doubles(bytes), MPI_DOUBLE, 1, bench::target_offset, doubles(bytes),
                   MPI_DOUBLE, MPI_SUM, window_);
  }
  void fetch_add() {
    MPI_Fetch_and_op(&one_, &fetched_, MPI_INT64_T, 1, bench::target_offset, MPI_SUM, window_);
    complete();
  }
  void complete() { MPI_Win_flush(1, window_); }

 private:
  char* base_ = nullptr;
  MPI_Win window_ = MPI_WIN_NULL;
  std::int64_t one_ = 1, fetched_ = 0;
  std::vector<double> origin_ = std::vector<double>(bench::osu_largest / sizeof(double), 1.0);
};

template <typename Library>
void run(bench::Sizes sizes) {
  Library library;
  bench::osu_benchmarks(library, sizes);
}

/// MPICH 4.0 over UCX's TCP may wait in MPI_Finalize forever: one process closes its connection, for which
/// the other process must make progress, but that process waits in the launcher's barrier. All results are
/// printed by then.
void finalize() {
#if defined(MPICH_VERSION)
  std::signal(SIGALRM, [](int) { ::_exit(0); });
  ::alarm(5);
#endif
  MPI_Finalize();
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  std::string const kind = argc > 1 ? argv[1] : "";
  if (!bench::has_two_processes() || (kind != "mpix" && kind != "window"))
    return bench::refuse("bench_osu mpix|window [--quick|--dense]");
  bench::Sizes const sizes = bench::sizes_chosen(argc, argv);
  if (kind == "mpix") {
    run<Mpix>(sizes);
  } else {
    run<Window>(sizes);
  }
  finalize();
  return 0;
}
