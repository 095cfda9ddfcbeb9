/// The cost of attributes: a put with each attribute and each pair of attributes, compared with the bare call
/// and a put by a plan. Calls are issued in series of up to 64 and completed together. BENCH_SEED shuffles
/// the lines of each size.
///
/// usage: bench_attributes [BYTES...]    (2 ranks; default 8)
#include <mpi.h>
#include <mpix_rma.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "bench/support/attributes.hpp"

namespace {

MPI_Comm world = MPI_COMM_WORLD;
constexpr std::size_t series_bytes = 256u << 10;
constexpr std::size_t max_in_series = 64;

struct Memory {
  char const* name;
  bench::Communicatable buffers;
  void* origin;
  char* target;
};

/// Measures the time per call of `put` in microseconds.
template <typename Put>
void measure_series(bench::Case const& what, Put put) {
  std::size_t const series = std::clamp<std::size_t>(series_bytes / what.segment_bytes, 1, max_in_series);
  if (!bench::is_wanted(what)) return;
  MPI_Barrier(world);
  if (bench::rank() == 0) {
    double const time = bench::median_us(
        [&] {
          for (std::size_t i = 0; i < series; ++i) put();
          MPIX_RMA_Complete(&world, 1);
        },
        series == 1 ? 5 : 15);
    bench::print(what, time / static_cast<double>(series));
  }
  MPI_Barrier(world);
}

/// All ranks have the same seed, so that they measure the lines in the same order.
std::mt19937 seeded() {
  char const* const seed = std::getenv("BENCH_SEED");
  return std::mt19937(seed != nullptr ? static_cast<unsigned>(std::strtoul(seed, nullptr, 10)) : 0);
}

void measure_all(Memory const& memory, std::size_t bytes) {
  int const count = static_cast<int>(bytes / sizeof(double));
  auto const put = [memory, count](std::uint64_t set) {
    static MPIX_RMA_Attributes chosen{0, MPI_OP_NULL, nullptr, 0};
    chosen.set = set;
    MPIX_RMA_xfer(MPIX_RMA_PUT, memory.origin, count, MPI_DOUBLE, 1, memory.target, count, MPI_DOUBLE,
                  nullptr, &world, set != 0 ? &chosen : nullptr);
  };
  auto const line = [&](std::string const& operation) {
    return bench::Case{"attributes", "mpix", operation, memory.name, 1, bytes};
  };
  std::vector<std::function<void()>> lines;
  bench::for_each_attribute_set(memory.buffers, [&](std::string const& name, std::uint64_t set) {
    lines.emplace_back([=] { measure_series(line(name), [&] { put(set); }); });
  });
  MPIX_RMA_Plan plan = MPIX_RMA_PLAN_NULL;
  MPIX_RMA_Plan_create(MPIX_RMA_PUT, MPI_DOUBLE, 1, MPI_DOUBLE, world, nullptr, &plan);
  lines.emplace_back([&] {
    measure_series(line("plan"),
                   [&] { MPIX_RMA_Plan_issue(plan, memory.origin, count, memory.target, count, nullptr); });
  });
  if (std::getenv("BENCH_SEED") != nullptr) {
    static std::mt19937 random = seeded();
    std::shuffle(lines.begin(), lines.end(), random);
  }
  for (auto const& each : lines) each();
  MPIX_RMA_Plan_free(&plan);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  std::vector<std::size_t> sizes;
  for (int i = 1; i < argc; ++i) sizes.push_back(std::strtoul(argv[i], nullptr, 10));
  if (sizes.empty()) sizes = {8};
  bool const right =
      std::all_of(sizes.begin(), sizes.end(), [](std::size_t n) { return n > 0 && n % 8 == 0; });
  if (!bench::has_two_processes() || !right) return bench::refuse("bench_attributes [BYTES...]");
  std::size_t const most = *std::max_element(sizes.begin(), sizes.end()) + bench::target_offset;
  void* bases[2];
  MPIX_RMA_Allocate(static_cast<MPI_Aint>(most), MPI_INFO_NULL, world, nullptr, bases);
  MPIX_RMA_Set_num_notify(world, 1);
  std::vector<char> heap(most);
  auto heap_address = reinterpret_cast<std::uintptr_t>(heap.data());
  MPI_Bcast(&heap_address, sizeof heap_address, MPI_BYTE, 1, world);
  auto* const origin = static_cast<char*>(bases[bench::rank()]) + bench::target_offset;
  for (std::size_t const bytes : sizes) {
    measure_all({"allocated", bench::Communicatable::both, origin,
                 static_cast<char*>(bases[1]) + bench::target_offset},
                bytes);
    measure_all({"heap", bench::Communicatable::no, origin,
                 reinterpret_cast<char*>(heap_address) + bench::target_offset},
                bytes);
  }
  MPIX_RMA_Free(bases[bench::rank()], world);
  MPI_Finalize();
  return 0;
}
