/// The cost of attributes: an 8-byte put with each attribute and each pair of attributes, compared with the
/// bare call and a put by a plan. Calls are issued in series of 64 and completed together.
///
/// usage: bench_attributes    (2 ranks)
#include <mpi.h>
#include <mpix_rma.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "bench/support/harness.hpp"

namespace {

MPI_Comm world = MPI_COMM_WORLD;
constexpr int series = 64;

struct Attribute {
  char const* name;
  std::uint64_t bits;
};
constexpr Attribute attributes[] = {
    {"atomicity", MPIX_RMA_ATTR_ATOMICITY},
    {"ordering", MPIX_RMA_ATTR_ORDERING},
    {"blocking", MPIX_RMA_ATTR_BLOCKING},
    {"remote", MPIX_RMA_ATTR_REMOTE_COMPLETION},
    {"communicatable", MPIX_RMA_ATTR_ORIGIN_COMMUNICATABLE | MPIX_RMA_ATTR_TARGET_COMMUNICATABLE},
    {"notify", MPIX_RMA_ATTR_NOTIFY},
};

/// Measures the time per call of `put` in microseconds.
template <typename Put>
void measure(std::string const& operation, std::string const& memory, Put put) {
  bench::Case const what{"attributes", "mpix", operation, memory, 1, 8};
  MPI_Barrier(world);
  if (bench::rank() == 0) {
    double const time = bench::median_us([&] {
      for (int i = 0; i < series; ++i) put();
      MPIX_RMA_Complete(&world, 1);
    });
    bench::print(what, time / series);
  }
  MPI_Barrier(world);
}

void measure_all(std::string const& memory, double* origin, char* target, bool communicatable) {
  auto const put = [&](std::uint64_t set) {
    static MPIX_RMA_Attributes chosen{0, MPI_OP_NULL, nullptr, 0};
    chosen.set = set;
    MPIX_RMA_xfer(MPIX_RMA_PUT, origin, 1, MPI_DOUBLE, 1, target, 1, MPI_DOUBLE, nullptr, &world,
                  set != 0 ? &chosen : nullptr);
  };
  measure("none", memory, [&] { put(0); });
  MPIX_RMA_Plan plan = MPIX_RMA_PLAN_NULL;
  MPIX_RMA_Plan_create(MPIX_RMA_PUT, MPI_DOUBLE, 1, MPI_DOUBLE, world, nullptr, &plan);
  measure("plan", memory, [&] { MPIX_RMA_Plan_issue(plan, origin, 1, target, 1, nullptr); });
  MPIX_RMA_Plan_free(&plan);
  for (std::size_t i = 0; i < std::size(attributes); ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      std::uint64_t const set = attributes[i].bits | attributes[j].bits;
      if (!communicatable && (set & MPIX_RMA_ATTR_ORIGIN_COMMUNICATABLE) != 0) continue;
      std::string const name =
          i == j ? attributes[i].name : std::string(attributes[j].name) + "+" + attributes[i].name;
      measure(name, memory, [&] { put(set); });
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int size = 0;
  MPI_Comm_size(world, &size);
  if (size != 2) {
    if (bench::rank() == 0) std::fprintf(stderr, "usage: mpirun -np 2 bench_attributes\n");
    MPI_Finalize();
    return 2;
  }
  void* bases[2];
  MPIX_RMA_Allocate(4096, MPI_INFO_NULL, world, nullptr, bases);
  MPIX_RMA_Set_num_notify(world, 1);
  std::vector<char> heap(4096);
  auto heap_address = reinterpret_cast<std::uintptr_t>(heap.data());
  MPI_Bcast(&heap_address, sizeof heap_address, MPI_BYTE, 1, world);
  measure_all("allocated", static_cast<double*>(bases[bench::rank()]), static_cast<char*>(bases[1]), true);
  measure_all("heap", static_cast<double*>(bases[bench::rank()]), reinterpret_cast<char*>(heap_address),
              false);
  MPIX_RMA_Free(bases[bench::rank()], world);
  MPI_Finalize();
  return 0;
}
