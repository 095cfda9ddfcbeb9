/// Decides whether a polling thread yields its core between two polls. Other polling threads return the
/// core soon. But some kernels charge a thread for its yields: now and then it loses the core for a time
/// slice. A thread that computes keeps the core for a time slice each time, the time of thousands of
/// messages: when such slices follow each other closely, the polling thread pauses its yields from the second
/// slice on, each time for twice as many polls.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace mpixrma::engine {

class CoreSharing {
 public:
  using Duration = std::chrono::nanoseconds;

  /// Whether to yield now. Called after each poll that has found nothing. Not true each time, because
  /// sched_yield() takes about as long as a poll, and messages that arrive meanwhile wait.
  bool yields() noexcept {
    if (pause_ == 0) {
      pause_ = between_yields;
      return true;
    }
    --pause_;
    return false;
  }

  /// Records how long the core was away after a yield. Returns whether that was less than a time slice.
  bool record_absence(Duration away) noexcept {
    if (away < min_slice) {
      if (slices_ != 0 && --slices_ == 0) next_pause_ = min_pause;
      return true;
    }
    slices_ = std::min(slices_ + slice_weight, max_slices);
    if (slices_ > slice_weight) {
      pause_ = next_pause_;
      next_pause_ = std::min(2 * next_pause_, longest_pause);
    }
    return false;
  }

 private:
  /// No usual time slice is shorter.
  static constexpr Duration min_slice = std::chrono::microseconds(300);
  // In polls. The longest pause is about a second, which bounds how late a core that is shared again is
  // noticed.
  static constexpr std::uint32_t between_yields = 3;
  static constexpr std::uint32_t min_pause = 1U << 10;
  static constexpr std::uint32_t longest_pause = 1U << 21;
  /// Number of short absences that outweigh one time slice: among threads that poll, at least a hundred
  /// absences in a row are short.
  static constexpr std::uint32_t slice_weight = 64;
  static constexpr std::uint32_t max_slices = 4 * slice_weight;

  std::uint32_t pause_ = 0;  ///< polls without yielding that are left
  std::uint32_t next_pause_ = min_pause;
  std::uint32_t slices_ = 0;  ///< time slices away, each `slice_weight`, less the short absences since
};

}  // namespace mpixrma::engine
