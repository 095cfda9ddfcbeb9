/// Streams: both processes issue many operations to each other without waiting for each, with and without
/// computation in between.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bench/support/harness.hpp"

namespace bench {

/// Keeps the processor busy without reading the clock, because that would yield the processor. The work is
/// counted, not timed: a calibration depends on what the other processor does meanwhile, and would differ
/// between implementations.
inline void compute(long rounds) {
  for (long i = 0; i < rounds; ++i) asm volatile("" : "+r"(i));
}

/// Collective. Prints the time per operation of a stream of `operations` operations, including their
/// completion, at the slower process: as "alone", and as "computing" with a computation between two
/// operations.
template <typename Issue, typename Finish>
void measure_stream(Case what, int operations, Issue issue, Finish finish) {
  auto const stream = [&](long rounds) {
    std::vector<double> times;
    for (int repetition = 0; repetition < 7; ++repetition) {
      MPI_Barrier(MPI_COMM_WORLD);
      double const start = MPI_Wtime();
      for (int i = 0; i < operations; ++i) {
        issue(i);
        compute(rounds);
      }
      finish();
      double mine = (MPI_Wtime() - start) / operations * 1e6;
      MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
      times.push_back(mine);
    }
    std::nth_element(times.begin(), times.begin() + 3, times.end());
    return times[3];
  };
  auto const measure_as = [&](char const* how, long rounds) {
    what.memory = how;
    if (!is_wanted(what)) return;
    double const median = stream(rounds);
    if (rank() == 0) print(what, median);
  };
  measure_as("alone", 0);
  // About the time to send a message, if a round takes half a nanosecond.
  constexpr long some_rounds = 20000;
  measure_as("computing", some_rounds);
}

}  // namespace bench
