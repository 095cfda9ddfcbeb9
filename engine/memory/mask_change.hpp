/// The shortest time in which a thread can change its signal mask.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace mpixrma::engine {

/// The mask of a thread changes by a system call only. So a thread has the mask that it had a moment ago if
/// less time has passed than a change takes. Concurrent threads use one object. Relaxed throughout: a lost
/// measurement is repeated.
class MaskChange {
 public:
  /// Whether durations are still to be measured.
  bool is_unknown() const noexcept { return left_.load(std::memory_order_relaxed) != 0; }

  /// Records the duration of a change.
  void note(std::chrono::nanoseconds took) noexcept {
    std::int64_t const shortest =
        std::min<std::int64_t>(shortest_.load(std::memory_order_relaxed), took.count());
    shortest_.store(shortest, std::memory_order_relaxed);
    unsigned const left = left_.load(std::memory_order_relaxed);
    if (left == 0) return;
    left_.store(left - 1, std::memory_order_relaxed);
    // Half: a later change may be faster than all that were measured.
    if (left == 1 && shortest / 2 >= least_useful) bound_.store(shortest / 2, std::memory_order_relaxed);
  }

  /// Nanoseconds in which no thread can have changed its mask. 0: unknown, or too few to be of use.
  std::int64_t bound() const noexcept { return bound_.load(std::memory_order_relaxed); }

 private:
  static constexpr unsigned measurements = 16;
  // A smaller bound is of no use: between two readings of the clock lies a pass of the MPI library's
  // progress, which takes longer.
  static constexpr std::int64_t least_useful = 100;

  std::atomic<unsigned> left_{measurements};
  std::atomic<std::int64_t> shortest_{INT64_MAX};
  std::atomic<std::int64_t> bound_{0};
};

}  // namespace mpixrma::engine
