/// Decides whether a polling thread yields its core between two polls. Threads that also poll return the core
/// soon. A thread that computes keeps it for a time slice, the time of thousands of messages: after that, the
/// polling thread does not yield for a long while.
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

  /// Records how long the core was away.
  void note(Duration away) noexcept {
    if (away < min_slice) {
      quick_ = std::min(quick_ + 1, quick_needed);
      if (quick_ == quick_needed) next_pause_ = min_pause;
      return;
    }
    quick_ = 0;
    pause_ = next_pause_;
    next_pause_ = std::min(2 * next_pause_, longest_pause);
  }

 private:
  /// No usual time slice is shorter.
  static constexpr Duration min_slice = std::chrono::microseconds(300);
  // In polls. The longest pause is about a second, which bounds how late a core that is shared again is
  // noticed.
  static constexpr std::uint32_t between_yields = 3;
  static constexpr std::uint32_t min_pause = 1U << 10;
  static constexpr std::uint32_t longest_pause = 1U << 21;
  /// Yields in a row after which the next pause is short again.
  static constexpr std::uint32_t quick_needed = 1000;

  std::uint32_t pause_ = 0;  ///< polls without yielding that are left
  std::uint32_t next_pause_ = min_pause;
  std::uint32_t quick_ = 0;
};

}  // namespace mpixrma::engine
