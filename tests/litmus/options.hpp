/// Command line of the litmus programs.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

namespace mpixrma::test::litmus {

struct Options {
  std::int64_t slice_microseconds = 2000;  ///< of a case, before the factor of its row
  std::uint64_t min_rounds = 0;            ///< the table is repeated until so many rounds are done
  std::size_t sample = 1;                  ///< one in `sample` settings of each row is run
  std::string only;                        ///< runs only the rows whose name contains this text
  bool verbose = false;
  unsigned seed = 0;  ///< selects the settings

  /// The same at all ranks of MPI_COMM_WORLD. Collective.
  static Options of(int argc, char** argv) {
    Options options;
    for (int i = 1; i < argc; ++i) {
      std::string const argument = argv[i];
      char const* const value = i + 1 < argc ? argv[i + 1] : "";
      if (argument == "--verbose") options.verbose = true;
      if (argument == "--slice") options.slice_microseconds = std::atoll(value);
      if (argument == "--rounds") options.min_rounds = std::strtoull(value, nullptr, 10);
      if (argument == "--sample") options.sample = std::strtoull(value, nullptr, 10);
      if (argument == "--only") options.only = value;
    }
    options.sample = std::max<std::size_t>(options.sample, 1);
    char const* const chosen = std::getenv("MPIX_TEST_SEED");
    options.seed = chosen != nullptr ? static_cast<unsigned>(std::atoi(chosen)) : std::random_device{}();
    MPI_Bcast(&options.seed, 1, MPI_UNSIGNED, 0, MPI_COMM_WORLD);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) std::printf("MPIX_TEST_SEED=%u\n", options.seed);
    return options;
  }
};

}  // namespace mpixrma::test::litmus
