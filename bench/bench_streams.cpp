/// Streams of operations from both processes at once, MPIX_RMA beside the windows of the MPI library.
///
/// usage: bench_streams mpix|window    (2 ranks)
#include <mpi.h>
#include <mpix_rma.h>

#include <cstring>
#include <string>
#include <vector>

#include "bench/support/streams.hpp"

namespace {

constexpr int operations = 2000;
constexpr std::size_t max_bytes = 4096;
MPI_Comm world = MPI_COMM_WORLD;

enum class Kind { put, get, accumulate, fetch_and_op };

constexpr char const* name_of(Kind kind) {
  constexpr char const* names[] = {"put", "get", "accumulate", "fetch_and_op"};
  return names[static_cast<int>(kind)];
}

/// The results that operations fetch; each operation of a stream has its own part.
std::vector<double> results(operations* max_bytes / sizeof(double));
double* result(int number) { return results.data() + number * static_cast<int>(max_bytes / sizeof(double)); }

/// Issues without waiting, and completes all operations.
struct Mpix {
  static inline char* target = nullptr;
  static void open() {
    void* bases[2];
    MPIX_RMA_Allocate(max_bytes, MPI_INFO_NULL, world, nullptr, bases);
    mine = bases[bench::rank()];
    target = static_cast<char*>(bases[1 - bench::rank()]);
    std::memset(mine, 0, max_bytes);
  }
  static void close() { MPIX_RMA_Free(mine, world); }
  static void issue(Kind kind, double const* origin, int count, int number) {
    int const peer = 1 - bench::rank();
    auto const move = [&](MPIX_RMA_Op op, double const* here) {
      MPIX_RMA_xfer(op, const_cast<double*>(here), count, MPI_DOUBLE, peer, target, count, MPI_DOUBLE,
                    nullptr, &world, nullptr);
    };
    switch (kind) {
      case Kind::put: return move(MPIX_RMA_PUT, origin);
      case Kind::get: return move(MPIX_RMA_GET, result(number));
      case Kind::accumulate: return move(MPIX_RMA_ACCUMULATE, origin);
      case Kind::fetch_and_op:
        MPIX_RMA_rmw(MPIX_RMW_SUM, origin, count, MPI_LONG, result(number), peer,
                     reinterpret_cast<MPI_Aint>(target), nullptr, &world, nullptr);
    }
  }
  static void complete() { MPIX_RMA_Complete(&world, 1 - bench::rank()); }
  static inline void* mine = nullptr;
};

struct Window {
  static inline MPI_Win window = MPI_WIN_NULL;
  static void open() {
    char* base = nullptr;
    MPI_Win_allocate(max_bytes, 1, MPI_INFO_NULL, world, &base, &window);
    std::memset(base, 0, max_bytes);
    MPI_Win_lock_all(0, window);
  }
  static void close() {
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
  }
  static void issue(Kind kind, double const* origin, int count, int number) {
    int const peer = 1 - bench::rank();
    switch (kind) {
      case Kind::put: MPI_Put(origin, count, MPI_DOUBLE, peer, 0, count, MPI_DOUBLE, window); return;
      case Kind::get: MPI_Get(result(number), count, MPI_DOUBLE, peer, 0, count, MPI_DOUBLE, window); return;
      case Kind::accumulate:
        MPI_Accumulate(origin, count, MPI_DOUBLE, peer, 0, count, MPI_DOUBLE, MPI_SUM, window);
        return;
      case Kind::fetch_and_op: MPI_Fetch_and_op(origin, result(number), MPI_LONG, peer, 0, MPI_SUM, window);
    }
  }
  static void complete() { MPI_Win_flush(1 - bench::rank(), window); }
};

template <typename Implementation>
void run(std::string const& implementation) {
  Implementation::open();
  MPI_Barrier(world);
  std::vector<double> const origin(max_bytes / sizeof(double), 1.0);
  for (Kind const kind : {Kind::put, Kind::get, Kind::accumulate, Kind::fetch_and_op}) {
    std::size_t const largest = kind == Kind::fetch_and_op ? sizeof(double) : max_bytes;
    for (std::size_t bytes = 8; bytes <= largest; bytes *= 8) {
      int const count = static_cast<int>(bytes / sizeof(double));
      bench::measure_stream(
          {"stream", implementation, name_of(kind), "", 1, bytes}, operations,
          [&](int number) { Implementation::issue(kind, origin.data(), count, number); },
          [] { Implementation::complete(); });
    }
  }
  MPI_Barrier(world);
  Implementation::close();
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  std::string const kind = argc > 1 ? argv[1] : "";
  if (!bench::has_two_processes() || (kind != "mpix" && kind != "window"))
    return bench::refuse("bench_streams mpix|window");
  std::string const implementation = bench::label_or(kind);
  kind == "mpix" ? run<Mpix>(implementation) : run<Window>(implementation);
  MPI_Finalize();
  return 0;
}
