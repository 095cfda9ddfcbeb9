/// Streams: both processes issue many operations to each other without waiting for each, with and without
/// computation in between.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bench/support/harness.hpp"

namespace bench {

/// Keeps the processor busy for a given time without reading the clock, which would yield it.
class Computing {
 public:
  Computing() {
    double best = 1e9;
    for (int attempt = 0; attempt < 20; ++attempt) {
      constexpr long rounds = 100000;
      double const start = MPI_Wtime();
      turn(rounds);
      best = std::min(best, (MPI_Wtime() - start) / rounds);
    }
    rounds_per_us_ = 1e-6 / best;
  }

  void operator()(double us) const { turn(static_cast<long>(us * rounds_per_us_)); }

 private:
  static void turn(long rounds) {
    for (long i = 0; i < rounds; ++i) asm volatile("" : "+r"(i));
  }

  double rounds_per_us_ = 0;
};

/// Collective. Prints the time per operation of a stream of `operations` operations, including their
/// completion, at the slower process: as "alone", and as "computing" with a computation between two
/// operations.
template <typename Issue, typename Finish>
void measure_stream(Case what, int operations, Issue issue, Finish finish) {
  static Computing const compute;
  auto const stream = [&](double between) {
    std::vector<double> times;
    for (int repetition = 0; repetition < 7; ++repetition) {
      MPI_Barrier(MPI_COMM_WORLD);
      double const start = MPI_Wtime();
      for (int i = 0; i < operations; ++i) {
        issue(i);
        if (between > 0) compute(between);
      }
      finish();
      double mine = (MPI_Wtime() - start) / operations * 1e6;
      MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
      times.push_back(mine);
    }
    std::nth_element(times.begin(), times.begin() + 3, times.end());
    return times[3];
  };
  auto const measure_as = [&](char const* how, double between) {
    what.memory = how;
    if (!is_wanted(what)) return;
    double const median = stream(between);
    if (rank() == 0) print(what, median);
  };
  measure_as("alone", 0);
  // The same computation beside every implementation: about the time to send a message.
  constexpr double send_us = 10;
  measure_as("computing", send_us);
}

}  // namespace bench
