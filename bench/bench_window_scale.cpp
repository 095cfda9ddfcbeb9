/// Memory and time of one process's window as the job grows. The other processes are simulated, as in
/// bench_scale, and so is MPI. The simulated processes report the same values as this process, or different
/// ones. Prints a line for each number of ranks.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "bench/support/lone_engine.hpp"
#include "hosts/common/hosted.h"
#include "mpi-windows/creation/creation.hpp"
#include "mpi-windows/epochs/passive.hpp"
#include "mpi-windows/state/window.hpp"

namespace {

using mpixrma::windows::ControlLayout;
using mpixrma::windows::Hints;
using mpixrma::windows::RankEntry;
using mpixrma::windows::RankTable;
using mpixrma::windows::Window;

int ranks = 1;
bool alike = true;  ///< all ranks report the same values

int process_of_rank(mpix_handle_t, int rank, std::uint64_t* process) {
  *process = bench::own_process + static_cast<std::uint64_t>(rank);
  return 0;
}

void measure_windows(int count, bool are_alike) {
  constexpr std::size_t windows = 20;
  constexpr int used = 64;
  ranks = count;
  alike = are_alike;
  bench::open_stub_network(static_cast<std::size_t>(count));
  bench::start_engine(SIZE_MAX);
  mpix_host_ops ops{};
  ops.size = sizeof ops;
  ops.process_of_rank = &process_of_rank;
  ops.is_thread_multiple = [] { return 0; };
  mpix_host_offer(bench::running, &ops);
  for (int rank = 1; rank < used; ++rank)
    (void)bench::engine_under_test().peers.find(bench::own_process + static_cast<std::uint64_t>(rank));
  std::vector<std::unique_ptr<Window>> made;
  auto const make = [&] {
    auto window =
        std::make_unique<Window>(bench::engine_under_test(), MPI_COMM_WORLD, Hints(nullptr), nullptr);
    mpix_window_memory memory{MPI_WIN_FLAVOR_ALLOCATE, nullptr, 4096, 8};
    if (open_window(*window, MPI_COMM_WORLD, memory) != MPI_SUCCESS) std::exit(1);
    made.push_back(std::move(window));
  };
  make();  // the cost of the first window
  std::uint64_t const kept = RankTable::kept_bytes();
  bench::Meter const making;
  for (std::size_t i = 0; i < windows; ++i) make();
  double const heap = making.bytes_each(windows);
  double const us = making.us_each(windows);
  double const table = static_cast<double>(RankTable::kept_bytes() - kept) / windows;
  bench::Meter const using_them;
  int const targets = std::min(used, count - 1);
  for (int rank = 1; rank <= targets; ++rank) {
    if (lock_target(*made.back(), MPI_LOCK_SHARED, rank, MPI_MODE_NOCHECK) != MPI_SUCCESS) std::exit(1);
    if (made.back()->table[rank].process != bench::own_process + static_cast<std::uint64_t>(rank))
      std::exit(1);
  }
  double const used_bytes = using_them.bytes_each(static_cast<std::size_t>(targets));
  bench::Meter const freeing;
  made.resize(1);
  std::printf("windows,%s,%d,%.0f,%zu,%.0f,%.2f,%.0f,%.2f\n", alike ? "alike" : "different", count, heap,
              ControlLayout{count}.bytes(), table, us, used_bytes, freeing.us_each(windows));
  made.clear();
}

}  // namespace

// The MPI functions that windows use.
extern "C" {

int PMPI_Query_thread(int* provided) {
  *provided = MPI_THREAD_SINGLE;
  return MPI_SUCCESS;
}
int PMPI_Comm_rank(MPI_Comm, int* rank) {
  *rank = 0;
  return MPI_SUCCESS;
}
int PMPI_Comm_size(MPI_Comm, int* size) {
  *size = ranks;
  return MPI_SUCCESS;
}
int PMPI_Comm_group(MPI_Comm, MPI_Group* group) {
  *group = MPI_GROUP_EMPTY;
  return MPI_SUCCESS;
}
int PMPI_Group_free(MPI_Group*) { return MPI_SUCCESS; }

/// Handles reductions of pairs of a value and its complement, by which windows find out whether all ranks
/// have the same value. Leaves reductions of a single value as they are.
int PMPI_Allreduce(void const*, void* values, int count, MPI_Datatype, MPI_Op, MPI_Comm) {
  auto* const words = static_cast<std::uint64_t*>(values);
  for (int i = 1; i < count && !alike; i += 2) words[i] = UINT64_MAX;
  return MPI_SUCCESS;
}
int PMPI_Allgather(void const* mine, int bytes, MPI_Datatype, void* all, int, MPI_Datatype, MPI_Comm) {
  auto* const entries = static_cast<RankEntry*>(all);
  for (int rank = 0; rank < ranks; ++rank) {
    std::memcpy(&entries[rank], mine, static_cast<std::size_t>(bytes));
    entries[rank].process += static_cast<std::uint64_t>(rank);
  }
  return MPI_SUCCESS;
}
}

int main(int argc, char** argv) {
  int const most = argc > 1 ? std::atoi(argv[1]) : 100000;
  bool right = true;
  std::puts(
      "windows,ranks,number,heap_bytes,control_bytes,host_table_bytes,create_us,used_rank_bytes,free_us");
  for (bool const same : {false, true}) {
    for (int count = 10; count <= most; count *= 10)
      right = bench::run_in_child([&] { measure_windows(count, same); }) && right;
  }
  return right ? 0 : 1;
}
