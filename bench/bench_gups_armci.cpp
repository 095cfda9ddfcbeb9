/// Random updates, or gets, of 8-byte words in a large table of another process, by ARMCI; linked once with
/// this project's library and once with ARMCI-MPI.
///
/// usage: bench_gups_armci_* update|get MEBIBYTES    (2 ranks)
#include <mpi.h>
// ARMCI-MPI's header has no C++ guard.
extern "C" {
#include <armci.h>
}

#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <string>

#include "bench/support/gups.hpp"

namespace {

constexpr int target = 1;

void measure(bool updates, std::uint64_t bytes) {
  std::string const label = bench::label_or("armci");
  std::uint64_t const mine = bench::rank() == target ? bytes : 0;
  void* bases[2];
  ARMCI_Malloc(bases, static_cast<armci_size_t>(mine));
  auto* const own = static_cast<std::uint64_t*>(bases[bench::rank()]);
  auto* const table = static_cast<std::uint64_t*>(bases[target]);
  std::uint64_t const words = mine / sizeof(std::uint64_t);
  for (std::uint64_t word = 0; word < words; ++word) own[word] = 0;
  std::string const operation = updates ? "update" : "get";
  std::uint64_t result = 0;
  std::uint64_t const accesses = bench::measure_passes(label, operation, bytes, [&](std::uint64_t word) {
    if (updates)
      ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &result, table + word, 1, target);
    else
      ARMCI_Get(table + word, &result, sizeof result, target);
  });
  ARMCI_Barrier();
  std::uint64_t const sum = std::accumulate(own, own + words, std::uint64_t{0});
  bench::require(mine == 0 || sum == (updates ? accesses : 0), {"gups", label, operation});
  ARMCI_Free(own);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  std::uint64_t const mib = argc == 3 ? std::strtoull(argv[2], nullptr, 10) : 0;
  bool const updates = bench::has_argument(argc, argv, "update");
  bool const known = updates || bench::has_argument(argc, argv, "get");
  if (!bench::has_two_processes() || mib == 0 || !known)
    return bench::refuse("bench_gups_armci_* update|get MEBIBYTES");
  ARMCI_Init();
  measure(updates, mib << 20);
  ARMCI_Finalize();
  MPI_Finalize();
  return 0;
}
