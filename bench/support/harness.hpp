/// Measurement: rank 0 is the origin, rank 1 the target, which waits in MPI_Barrier. CSV lines on stdout:
/// family,implementation,operation,memory,segments,segment_bytes,median_us
#pragma once

#include <mpi.h>
#include <regex.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

/// Offset of targets in their memory, in bytes. It is not 0, because a load whose address matches an earlier
/// store's in the low 12 bits is delayed, and much of what a program reads is at the beginning of pages.
inline constexpr int target_offset = 192;

/// The description of a measurement.
struct Case {
  std::string family;
  std::string implementation;
  std::string operation;
  std::string memory = "allocated";
  std::size_t segments = 1;
  std::size_t segment_bytes = 8;
};

inline int rank() {
  int value = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &value);
  return value;
}

inline bool has_two_processes() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size == 2;
}

/// Returns the label of this program's lines: BENCH_LABEL, or else `usual`.
inline std::string label_or(std::string const& usual) {
  char const* const label = std::getenv("BENCH_LABEL");
  return label != nullptr ? label : usual;
}

/// Prints the usage at rank 0 and ends MPI. Returns the exit status.
inline int refuse(char const* usage) {
  if (rank() == 0) std::fprintf(stderr, "usage: mpirun -np 2 %s\n", usage);
  MPI_Finalize();
  return 2;
}

/// Returns the median time of one call of `operation` in microseconds, over batches that last about a
/// millisecond each.
template <typename Operation>
double median_us(Operation operation, int repetitions = 15) {
  double const batch_seconds = 1e-3;
  for (int i = 0; i < 10; ++i) operation();
  std::size_t calls = 1;
  for (;;) {
    double const start = MPI_Wtime();
    for (std::size_t i = 0; i < calls; ++i) operation();
    double const elapsed = MPI_Wtime() - start;
    if (elapsed > batch_seconds / 2 || calls > (std::size_t{1} << 22)) {
      calls = std::max<std::size_t>(
          1, static_cast<std::size_t>(static_cast<double>(calls) * batch_seconds / std::max(elapsed, 1e-9)));
      break;
    }
    calls *= 4;
  }
  std::vector<double> times;
  for (int r = 0; r < repetitions; ++r) {
    double const start = MPI_Wtime();
    for (std::size_t i = 0; i < calls; ++i) operation();
    times.push_back((MPI_Wtime() - start) / static_cast<double>(calls) * 1e6);
  }
  std::nth_element(times.begin(), times.begin() + repetitions / 2, times.end());
  return times[static_cast<std::size_t>(repetitions / 2)];
}

/// Whether this line is to be measured: BENCH_ONLY is unset or invalid, or a regular expression that matches
/// in "family operation memory size". bench/run passes BENCH_ONLY to all ranks.
inline bool is_wanted(Case const& what) {
  static regex_t const* const pattern = []() -> regex_t const* {
    static regex_t compiled;
    char const* const given = std::getenv("BENCH_ONLY");
    if (given == nullptr || ::regcomp(&compiled, given, REG_EXTENDED | REG_NOSUB) != 0) return nullptr;
    return &compiled;
  }();
  if (pattern == nullptr) return true;
  std::string const shape = what.segments == 1 ? "" : std::to_string(what.segments) + " x ";
  std::string const text = what.family + ' ' + what.operation + ' ' + what.memory + ' ' + shape +
                           std::to_string(what.segment_bytes);
  return ::regexec(pattern, text.c_str(), 0, nullptr, 0) == 0;
}

/// Prints one line of results.
inline void print(Case const& what, double value) {
  std::printf("%s,%s,%s,%s,%zu,%zu,%.5f\n", what.family.c_str(), what.implementation.c_str(),
              what.operation.c_str(), what.memory.c_str(), what.segments, what.segment_bytes, value);
  std::fflush(stdout);
}

/// Measures at the origin while the target waits, and prints the line.
template <typename Operation>
void measure(Case const& what, Operation operation) {
  if (!is_wanted(what)) return;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank() == 0) {
    print(what, median_us(operation));
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/// All ranks call `round` equally often; the line is the median over batches.
template <typename Round>
void measure_together(Case const& what, int rounds, Round round) {
  if (!is_wanted(what)) return;
  std::vector<double> times;
  for (int batch = 0; batch < 9; ++batch) {
    MPI_Barrier(MPI_COMM_WORLD);
    double const start = MPI_Wtime();
    for (int i = 0; i < rounds; ++i) round();
    MPI_Barrier(MPI_COMM_WORLD);
    times.push_back((MPI_Wtime() - start) / rounds * 1e6);
  }
  std::nth_element(times.begin(), times.begin() + 4, times.end());
  if (rank() == 0) print(what, times[4]);
}

/// Aborts on a wrong result, which invalidates every figure.
inline void require(bool right, Case const& what) {
  if (right) return;
  std::fprintf(stderr, "%s %s %s: WRONG RESULT\n", what.implementation.c_str(), what.operation.c_str(),
               what.memory.c_str());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/// Sizes of contiguous transfers: the usual ones, few (`--quick`), those by which `bench/run --compare`
/// compares two builds (`--for-comparison`), or every power of two (`--dense`).
enum class Sizes { usual, few, comparison, dense };

inline bool has_argument(int argc, char** argv, std::string_view argument) {
  return std::find(argv + 1, argv + argc, argument) != argv + argc;
}

inline Sizes sizes_chosen(int argc, char** argv) {
  if (has_argument(argc, argv, "--for-comparison")) return Sizes::comparison;
  if (has_argument(argc, argv, "--dense")) return Sizes::dense;
  return has_argument(argc, argv, "--quick") ? Sizes::few : Sizes::usual;
}

inline std::vector<std::size_t> sizes(Sizes chosen) {
  if (chosen == Sizes::few) return {8, 4096, 65536, 262144};
  if (chosen == Sizes::comparison) return {8, 4096, 65536, 2u << 20};
  std::vector<std::size_t> made;
  if (chosen == Sizes::dense) {
    for (std::size_t bytes = 8; bytes <= (4u << 20); bytes *= 2) made.push_back(bytes);
    return made;
  }
  for (std::size_t bytes = 8; bytes <= (4u << 20); bytes *= 8) made.push_back(bytes);
  made.push_back(64u << 10);
  made.push_back(4u << 20);
  return made;
}

}  // namespace bench
