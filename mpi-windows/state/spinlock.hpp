/// A lock for critical sections of a few instructions that do not block.
#pragma once

#include <atomic>

#include "engine/base/backoff.hpp"

namespace mpixrma::windows {

class Spinlock {
 public:
  /// `threads`: whether there can be concurrency; otherwise lock() does nothing.
  explicit Spinlock(bool threads) noexcept : threads_(threads) {}

  void lock() noexcept {
    if (!threads_) return;
    // Acquire: pairs with the release in unlock().
    while (taken_.exchange(true, std::memory_order_acquire)) engine::cpu_relax();
  }
  void unlock() noexcept { taken_.store(false, std::memory_order_release); }

 private:
  bool threads_;
  std::atomic<bool> taken_{false};
};

}  // namespace mpixrma::windows
