/// Random updates, or gets, of 8-byte words in a large table of another process, by MPIX_RMA and by MPI
/// windows.
///
/// usage: bench_gups mpix|window update|get MEBIBYTES    (2 ranks)
#include <mpi.h>
#include <mpix_rma.h>

#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <string>

#include "bench/support/gups.hpp"

namespace {

constexpr int target = 1;
constexpr char const* usage = "bench_gups mpix|window update|get MEBIBYTES";

/// A table of words at rank 1.
struct MpixTable {
  explicit MpixTable(std::uint64_t bytes) {
    mine = bench::rank() == target ? bytes : 0;
    void* bases[2];
    void* base = nullptr;
    MPIX_RMA_Allocate(static_cast<MPI_Aint>(mine), MPI_INFO_NULL, world, &base, bases);
    begin = static_cast<std::uint64_t*>(bases[target]);
    own = static_cast<std::uint64_t*>(base);
  }
  ~MpixTable() { MPIX_RMA_Free(own, world); }
  MpixTable(MpixTable const&) = delete;
  MpixTable& operator=(MpixTable const&) = delete;

  void update(std::uint64_t word) {
    std::uint64_t one = 1;
    MPIX_RMA_xfer(MPIX_RMA_ACCUMULATE, &one, 1, MPI_UINT64_T, target, begin + word, 1, MPI_UINT64_T, nullptr,
                  &world, &atomic);
    MPIX_RMA_Complete(&world, target);
  }
  void get(std::uint64_t word) {
    MPIX_RMA_xfer(MPIX_RMA_GET, &result, 1, MPI_UINT64_T, target, begin + word, 1, MPI_UINT64_T, nullptr,
                  &world, nullptr);
    MPIX_RMA_Complete(&world, target);
  }

  MPI_Comm world = MPI_COMM_WORLD;
  MPIX_RMA_Attributes atomic{MPIX_RMA_ATTR_ATOMICITY, MPI_OP_NULL, nullptr, 0};
  std::uint64_t mine;
  std::uint64_t* begin;  ///< at the target
  std::uint64_t* own;
  std::uint64_t result = 0;
};

struct WindowTable {
  explicit WindowTable(std::uint64_t bytes) : mine(bench::rank() == target ? bytes : 0) {
    MPI_Win_allocate(static_cast<MPI_Aint>(mine), sizeof(std::uint64_t), MPI_INFO_NULL, MPI_COMM_WORLD, &own,
                     &window);
    MPI_Win_lock_all(0, window);
  }
  ~WindowTable() {
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
  }
  WindowTable(WindowTable const&) = delete;
  WindowTable& operator=(WindowTable const&) = delete;

  void update(std::uint64_t word) {
    std::uint64_t const one = 1;
    MPI_Accumulate(&one, 1, MPI_UINT64_T, target, static_cast<MPI_Aint>(word), 1, MPI_UINT64_T, MPI_SUM,
                   window);
    MPI_Win_flush(target, window);
  }
  void get(std::uint64_t word) {
    MPI_Get(&result, 1, MPI_UINT64_T, target, static_cast<MPI_Aint>(word), 1, MPI_UINT64_T, window);
    MPI_Win_flush(target, window);
  }

  std::uint64_t mine;
  std::uint64_t* own;
  MPI_Win window;
  std::uint64_t result = 0;
};

template <typename Table>
void measure(std::string const& label, bool updates, std::uint64_t bytes) {
  Table table(bytes);
  std::uint64_t const words = table.mine / sizeof(std::uint64_t);
  for (std::uint64_t word = 0; word < words; ++word) table.own[word] = 0;
  std::string const operation = updates ? "update" : "get";
  std::uint64_t const accesses = bench::measure_passes(
      label, operation, bytes, [&](std::uint64_t word) { updates ? table.update(word) : table.get(word); });
  std::uint64_t const sum = std::accumulate(table.own, table.own + words, std::uint64_t{0});
  bool const right = table.mine == 0 || sum == (updates ? accesses : 0);
  bench::require(right && table.result == 0, {"gups", label, operation});
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  std::uint64_t const mib = argc == 4 ? std::strtoull(argv[3], nullptr, 10) : 0;
  bool const updates = bench::has_argument(argc, argv, "update");
  bool const mpix = bench::has_argument(argc, argv, "mpix");
  bool const known = (updates || bench::has_argument(argc, argv, "get")) &&
                     (mpix || bench::has_argument(argc, argv, "window"));
  if (!bench::has_two_processes() || mib == 0 || !known) return bench::refuse(usage);
  if (mpix)
    measure<MpixTable>(bench::label_or("mpix"), updates, mib << 20);
  else
    measure<WindowTable>(bench::label_or("window"), updates, mib << 20);
  MPI_Finalize();
  return 0;
}
