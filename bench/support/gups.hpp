/// Random accesses of rank 0 to the words of a table at rank 1: the first pass, over pages that the origin
/// has not accessed before, and the best of later passes.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <cstdio>
#include <string>

#include "bench/support/harness.hpp"

namespace bench {

/// Marsaglia's xorshift64.
class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}
  std::uint64_t next() noexcept {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }

 private:
  std::uint64_t state_;
};

/// Returns the number of page faults that this thread has had.
inline double page_faults() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return static_cast<double>(usage.ru_minflt + usage.ru_majflt);
}

/// Returns the size of this process's page tables, in KiB.
inline double page_table_kib() {
  std::FILE* const status = std::fopen("/proc/self/status", "r");
  if (status == nullptr) return 0;
  char line[256];
  double kib = 0;
  while (std::fgets(line, sizeof line, status) != nullptr) {
    if (std::sscanf(line, "VmPTE: %lf", &kib) == 1) break;
  }
  std::fclose(status);
  return kib;
}

/// Makes two random accesses per page, the same in each pass. Returns the time per access in microseconds.
template <typename Access>
double pass(std::uint64_t words, Access access) {
  constexpr std::uint64_t words_of_page = 512;
  std::uint64_t const accesses = 2 * words / words_of_page;
  Random random(88172645463325252u);
  double const begin = MPI_Wtime();
  for (std::uint64_t i = 0; i < accesses; ++i) access(random.next() % words);
  return (MPI_Wtime() - begin) * 1e6 / static_cast<double>(accesses);
}

/// Measures one operation on a table of `bytes` bytes. `access(word)` adds 1 to a word, or reads it. Returns
/// the number of accesses in all passes.
template <typename Access>
std::uint64_t measure_passes(std::string const& label, std::string const& operation, std::uint64_t bytes,
                             Access access) {
  std::uint64_t const words = bytes / sizeof(std::uint64_t);
  constexpr int later_passes = 3;
  Case what{"gups", label, operation + " first", "allocated", 1, bytes};
  if (!is_wanted(what)) return 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank() == 0) {
    double const before = page_table_kib();
    double const faults_before = page_faults();
    print(what, pass(words, access));
    double const faults = page_faults() - faults_before;
    what.operation = operation + " later";
    double best = pass(words, access);
    for (int i = 1; i < later_passes; ++i) best = std::min(best, pass(words, access));
    print(what, best);
    what.operation = operation + " page tables KiB";
    print(what, page_table_kib() - before);
    what.operation = operation + " page faults";
    print(what, faults);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return (1 + later_passes) * (2 * words / 512);
}

}  // namespace bench
