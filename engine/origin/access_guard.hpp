/// Whether loads and stores may access the memory of a process at once.
#pragma once

#include <atomic>
#include <cstdint>

namespace mpixrma::engine {

/// Holds the sequence of the newest message that later accesses must wait for, and whether each access has to
/// be recorded in the trace. Both are in one word, which the hot path compares with 0.
///
/// As engine/origin/mapped_segment.hpp, checked against the memory model with another `Atomic`.
template <template <typename> class Atomic>
class BasicAccessGuard {
 public:
  static constexpr std::uint64_t max_sequence = UINT64_MAX >> 1;

  /// Whether an access has to wait or to be recorded. Acquire: pairs with the release in replace(), so that a
  /// thread that need not wait sees the effects of the messages, and its stores follow them.
  bool is_set() const noexcept { return word_.load(std::memory_order_acquire) != 0; }

  /// Returns the sequence of the message; 0 means no wait. Acquire: as is_set().
  std::uint64_t sequence() const noexcept { return word_.load(std::memory_order_acquire) >> 1; }

  /// Whether raise(max_sequence) has been called: no message has this sequence. Acquire: as is_set().
  bool is_at_maximum() const noexcept { return word_.load(std::memory_order_acquire) >= max_sequence << 1; }

  /// Makes later accesses wait for everything up to `sequence`.
  void raise(std::uint64_t sequence) noexcept {
    // Relaxed: a thread that must wait because of this message knows of it by other means.
    std::uint64_t present = word_.load(std::memory_order_relaxed);
    while (present >> 1 < sequence &&
           !word_.compare_exchange_weak(present, word_of(sequence, present), std::memory_order_relaxed,
                                        std::memory_order_relaxed)) {
    }
  }

  /// Called by a thread that has waited for the messages up to `sequence`. A later sequence is kept.
  void clear(std::uint64_t sequence) noexcept { replace(sequence, 0); }
  /// As clear(), for a thread that must still wait for the messages up to `next`.
  void replace(std::uint64_t sequence, std::uint64_t next) noexcept {
    std::uint64_t const present = word_.load(std::memory_order_relaxed);
    std::uint64_t expected = word_of(sequence, present);
    // Release: pairs with the acquire in is_set() and sequence().
    word_.compare_exchange_strong(expected, word_of(next, present), std::memory_order_release,
                                  std::memory_order_relaxed);
  }

  /// Requires that each access is recorded. Before other threads know of the process.
  void trace() noexcept {
    word_.store(word_.load(std::memory_order_relaxed) | traced, std::memory_order_relaxed);
  }
  bool is_traced() const noexcept { return (word_.load(std::memory_order_relaxed) & traced) != 0; }

 private:
  static constexpr std::uint64_t traced = 1;  ///< never changes once other threads know of the process

  static constexpr std::uint64_t word_of(std::uint64_t sequence, std::uint64_t present) noexcept {
    return sequence << 1 | (present & traced);
  }

  Atomic<std::uint64_t> word_{0};
};

using AccessGuard = BasicAccessGuard<std::atomic>;

}  // namespace mpixrma::engine
