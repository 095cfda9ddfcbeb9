/// The loops of the OSU benchmarks for one-sided communication: latency is one operation and its completion
/// at the target; bandwidth is a window of operations that are completed together. Library::fetch_add()
/// returns after the value has been fetched.
#pragma once

#include <cstddef>
#include <string>

#include "bench/support/harness.hpp"

namespace bench {

inline constexpr int osu_window = 64;  ///< operations in flight, as osu_put_bw has them
inline constexpr std::size_t osu_largest = 4u << 20;

/// Measures one operation: `Library` has put, get, accumulate(bytes), which issue, and complete().
template <typename Library>
void osu_operation(Library& library, char const* operation, void (Library::*issue)(std::size_t),
                   std::size_t bytes) {
  std::string const name = operation;
  std::string const label = label_or(Library::name);
  measure({"osu", label, name + "_latency", "allocated", 1, bytes}, [&] {
    (library.*issue)(bytes);
    library.complete();
  });
  // Prints the time per operation.
  Case const bandwidth{"osu", label, name + "_bw", "allocated", 1, bytes};
  if (!is_wanted(bandwidth)) return;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank() == 0) {
    int const window = bytes >= (256u << 10) ? osu_window / 8 : osu_window;
    double const time = median_us(
        [&] {
          for (int i = 0; i < window; ++i) (library.*issue)(bytes);
          library.complete();
        },
        5);
    print(bandwidth, time / window);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

template <typename Library>
void osu_benchmarks(Library& library, Sizes chosen) {
  for (std::size_t const bytes : sizes(chosen)) {
    osu_operation(library, "put", &Library::put, bytes);
    osu_operation(library, "get", &Library::get, bytes);
    // OpenSHMEM has no accumulate of many elements.
    if constexpr (requires { &Library::accumulate; })
      osu_operation(library, "acc", &Library::accumulate, bytes);
  }
  measure({"osu", label_or(Library::name), "fop_latency"}, [&] { library.fetch_add(); });
}

}  // namespace bench
