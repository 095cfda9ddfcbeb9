/// Decides whether to use a peer's ring: not while the peer does not poll.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace mpixrma::engine {

/// Relaxed throughout, for concurrent threads: a lost update costs one attempt.
class RingUse {
 public:
  /// Called for every suitable operation.
  bool permits() noexcept {
    std::uint32_t const left = pause_.load(std::memory_order_relaxed);
    if (left == 0) return true;
    pause_.store(left - 1, std::memory_order_relaxed);
    return false;
  }
  void note_completed() noexcept {
    if (next_pause_.load(std::memory_order_relaxed) != shortest)
      next_pause_.store(shortest, std::memory_order_relaxed);
  }
  /// Records that the peer did not poll.
  void note_not_taken() noexcept {
    std::uint32_t const pause = next_pause_.load(std::memory_order_relaxed);
    pause_.store(pause, std::memory_order_relaxed);
    next_pause_.store(std::min(2 * pause, longest), std::memory_order_relaxed);
  }
  /// Records that all slots that this process tries are in use. Returns whether the slots' owners should be
  /// checked now, which takes system calls.
  bool note_full() noexcept {
    return full_.fetch_add(1, std::memory_order_relaxed) % full_between_looks == 0;
  }

 private:
  static constexpr std::uint32_t full_between_looks = 64;
  // Number of operations that skip the ring before the next attempt.
  static constexpr std::uint32_t shortest = 8;
  static constexpr std::uint32_t longest = 1024;

  std::atomic<std::uint32_t> pause_{0};
  std::atomic<std::uint32_t> next_pause_{shortest};
  std::atomic<std::uint32_t> full_{0};
};

}  // namespace mpixrma::engine
