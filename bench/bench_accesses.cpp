/// The accesses to shared memory of the operations that bench/many_cores.c contends for, recorded from the
/// library by single-stepping: the input of the model of contention. x86-64 only.
///
/// usage: bench_accesses    (2 ranks)
///
/// Prints a line "accesses,mpix,OPERATION,KIND,NUMBER,LINE,INSTRUCTIONS" for each access to memory that both
/// processes access. NUMBER counts the accesses in order, LINE is the cache line, numbered by first access,
/// and INSTRUCTIONS counts from the previous access.
#include <mpi.h>
#include <mpix_rma.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "bench/support/accesses.hpp"
#include "bench/support/harness.hpp"

namespace {

MPI_Comm world = MPI_COMM_WORLD;

using Accesses = std::vector<bench::Access>;

/// Calls `call` a hundred times, and once more recorded.
template <typename Operation>
Accesses record(Operation call) {
  for (int i = 0; i < 100; ++i) call();
  Accesses const found = bench::observe(call, bench::AccessRecorder());
  if (found.empty()) {
    std::fprintf(stderr, "bench_accesses: the system does not permit ptrace\n");
    MPI_Abort(world, 1);
  }
  return found;
}

/// Sends the recorded accesses to rank 0, which returns those of the other rank; others return nothing.
Accesses exchange_accesses(Accesses const& accesses) {
  auto bytes = static_cast<int>(accesses.size() * sizeof(bench::Access));
  if (bench::rank() != 0) {
    MPI_Send(accesses.data(), bytes, MPI_BYTE, 0, 0, world);
    return {};
  }
  MPI_Status status;
  MPI_Probe(1, 0, world, &status);
  MPI_Get_count(&status, MPI_BYTE, &bytes);
  Accesses others(static_cast<std::size_t>(bytes) / sizeof(bench::Access));
  MPI_Recv(others.data(), bytes, MPI_BYTE, 1, 0, world, MPI_STATUS_IGNORE);
  return others;
}

/// Prints the accesses to lines that the other process accesses, too.
void print(char const* operation, Accesses const& accesses, Accesses const& others) {
  constexpr char const* kinds[] = {"load", "store", "atomic", "end"};
  std::vector<bench::SharedLine> lines;
  std::size_t number = 0;
  std::uint32_t instructions = 0;
  for (bench::Access const& access : accesses) {
    instructions += access.instructions;
    if (std::none_of(others.begin(), others.end(),
                     [&](auto const& other) { return other.line == access.line; }))
      continue;
    auto const found = std::find(lines.begin(), lines.end(), access.line);
    auto const line_index = static_cast<std::size_t>(found - lines.begin());
    if (found == lines.end()) lines.push_back(access.line);
    bench::print({"accesses", "mpix", operation, kinds[static_cast<int>(access.kind)], number++, line_index},
                 std::exchange(instructions, 0));
  }
}

/// Records one rank after the other, both on memory of rank 1.
template <typename Operation>
void report(char const* operation, Operation call) {
  Accesses mine;
  for (int turn = 0; turn < 2; ++turn) {
    MPI_Barrier(world);
    if (bench::rank() == turn) mine = record(call);
  }
  MPI_Barrier(world);
  Accesses const others = exchange_accesses(mine);
  if (bench::rank() == 0) print(operation, mine, others);
}

/// As report(), for an operation that both ranks call together: rank 1 records it first, then rank 0.
template <typename Operation>
void report_together(char const* operation, Operation call) {
  Accesses mine;
  for (int turn = 1; turn >= 0; --turn) {
    MPI_Barrier(world);
    if (bench::rank() == turn) {
      mine = record(call);
    } else {
      for (int i = 0; i <= 100; ++i) call();
    }
  }
  Accesses const others = exchange_accesses(mine);
  if (bench::rank() == 0) print(operation, mine, others);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (!bench::has_two_processes()) return bench::refuse("bench_accesses");
  void* bases[2];
  MPIX_RMA_Allocate(4096, MPI_INFO_NULL, world, nullptr, bases);
  MPIX_RMA_Attributes atomic{MPIX_RMA_ATTR_ATOMICITY, MPI_OP_NULL, nullptr, 0};
  long const one = 1;
  double addend = 1;
  long before = 0;
  report("counters", [&] {
    MPIX_RMA_rmw(MPIX_RMW_SUM, &one, 1, MPI_LONG, &before, 1, reinterpret_cast<MPI_Aint>(bases[1]), nullptr,
                 &world, nullptr);
  });
  report("accumulate", [&] {
    MPIX_RMA_xfer(MPIX_RMA_ACCUMULATE, &addend, 1, MPI_DOUBLE, 1, static_cast<char*>(bases[1]) + 2048, 1,
                  MPI_DOUBLE, nullptr, &world, &atomic);
  });
  void* element = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_allocate(sizeof(double), 1, MPI_INFO_NULL, world, &element, &window);
  report_together("fence", [&] { MPI_Win_fence(0, window); });
  MPI_Win_free(&window);
  MPIX_RMA_Free(bases[bench::rank()], world);
  MPI_Finalize();
  return 0;
}
