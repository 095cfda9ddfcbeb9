/// The operations that an origin has issued to a target and not waited for.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace mpixrma::engine {

/// The operations that a thread must wait for, as one number. Each operation increments the number, or raises
/// the number to the operation's Issued::sequence if that is larger. So clear() cannot clear an operation
/// that another thread has issued during the wait, not even a UCX put or get, which has no position of its
/// own. The lowest bit of the word means that there are operations to wait for.
///
/// A template of its atomics, so that lock_free_model_test can run it, as mapped_segment.hpp.
template <template <typename> class Atomic>
class BasicOutstandingMark {
 public:
  /// Acquire, here and in get(): pairs with the release in clear(), so that a thread that need not wait sees
  /// the effects of the operations, and its stores follow them.
  bool is_set() const noexcept { return (word_.load(std::memory_order_acquire) & set) != 0; }

  /// Returns the argument of EngineOrder::complete and similar calls: at least the position of every
  /// outstanding message. 0 means no wait.
  std::uint64_t get() const noexcept {
    std::uint64_t const word = word_.load(std::memory_order_acquire);
    return (word & set) != 0 ? word >> 1 : 0;
  }

  /// Records an issued operation with this position.
  void raise(std::uint64_t sequence) noexcept {
    // Relaxed: a thread that must wait for this operation synchronises with the issuing thread elsewhere.
    std::uint64_t present = word_.load(std::memory_order_relaxed);
    std::uint64_t next = 0;
    do {
      next = std::max((present >> 1) + 1, sequence) << 1 | set;
    } while (
        !word_.compare_exchange_weak(present, next, std::memory_order_relaxed, std::memory_order_relaxed));
  }

  /// Called by a thread that got the nonzero `mark` and has waited for it. Later operations stay recorded.
  void clear(std::uint64_t mark) noexcept {
    std::uint64_t present = mark << 1 | set;
    // Release: pairs with the acquires above.
    word_.compare_exchange_strong(present, mark << 1, std::memory_order_release, std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint64_t set = 1;

  Atomic<std::uint64_t> word_{0};
};

using OutstandingMark = BasicOutstandingMark<std::atomic>;

}  // namespace mpixrma::engine
