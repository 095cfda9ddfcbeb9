/// ARMCI operations on memory under each access mode: what a promise of the program can save.
///
/// usage: bench_armci_modes    (2 ranks)
#include <armci.h>
#include <armcix.h>
#include <mpi.h>

#include <cstring>
#include <string>

#include "bench/support/harness.hpp"

namespace {

constexpr std::size_t max_bytes = 1u << 20;

struct Mode {
  char const* name;
  int mode;
};
constexpr Mode access_modes[] = {{"all", ARMCIX_MODE_ALL},
                                 {"no_load_store", ARMCIX_MODE_NO_LOAD_STORE},
                                 {"conflict_free", ARMCIX_MODE_CONFLICT_FREE}};

void operations(Mode const& mode, char* origin, char* target, std::size_t bytes) {
  int const size = static_cast<int>(bytes);
  double two = 2;
  long one = 1;
  long fetched = 0;
  int stride = 64;
  int count[] = {32, size / 32};
  auto const line = [&](char const* operation) {
    return bench::Case{"armci_modes", mode.name, operation, "allocated", 1, bytes};
  };
  bench::measure(line("put"), [&] { ARMCI_Put(origin, target, size, 1); });
  bench::measure(line("get"), [&] { ARMCI_Get(target, origin, size, 1); });
  std::memset(origin, 0, max_bytes);
  bench::measure(line("acc_long"), [&] { ARMCI_Acc(ARMCI_ACC_LNG, &one, origin, target, size, 1); });
  bench::measure(line("acc_double"), [&] { ARMCI_Acc(ARMCI_ACC_DBL, &two, origin, target, size, 1); });
  if (size >= 64) {
    bench::measure(line("puts"), [&] { ARMCI_PutS(origin, &stride, target, &stride, count, 1, 1); });
    bench::measure(line("accs"),
                   [&] { ARMCI_AccS(ARMCI_ACC_DBL, &two, origin, &stride, target, &stride, count, 1, 1); });
  } else {
    bench::measure(line("rmw"), [&] { ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &fetched, target, 1, 1); });
    bench::measure(line("put_fence"), [&] {
      ARMCI_Put(origin, target, size, 1);
      ARMCI_Fence(1);
    });
  }
}

/// The case that CONFLICT_FREE describes: both processes accumulate to rank 1, each to its own half of the
/// memory there.
void halves(Mode const& mode, char* origin, char* target, std::size_t bytes) {
  char* const half = target + (bench::rank() == 0 ? 0 : max_bytes / 2);
  double two = 2;
  bench::measure_together({"armci_modes", mode.name, "acc_halves", "allocated", 1, bytes}, 200,
                          [&] { ARMCI_Acc(ARMCI_ACC_DBL, &two, origin, half, static_cast<int>(bytes), 1); });
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (!bench::has_two_processes() || argc != 1) return bench::refuse("bench_armci_modes");
  ARMCI_Init();
  void* bases[2];
  ARMCI_Malloc(bases, max_bytes);
  void* const mine = bases[bench::rank()];
  std::memset(mine, 0, max_bytes);
  auto* const origin = static_cast<char*>(ARMCI_Malloc_local(max_bytes));
  std::memset(origin, 0, max_bytes);
  ARMCI_Group world;
  ARMCI_Group_get_world(&world);
  for (Mode const& mode : access_modes) {
    if (ARMCIX_Mode_set(mode.mode, mine, &world) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
    for (std::size_t const bytes : {std::size_t{8}, std::size_t{1024}, std::size_t{65536}}) {
      operations(mode, origin, static_cast<char*>(bases[1]) + bench::target_offset, bytes);
      halves(mode, origin, static_cast<char*>(bases[1]), bytes);
    }
  }
  ARMCI_Free_local(origin);
  ARMCI_Free(mine);
  ARMCI_Finalize();
  MPI_Finalize();
  return 0;
}
