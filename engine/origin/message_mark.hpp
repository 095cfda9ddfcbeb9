/// The newest message that later accesses must wait for.
#pragma once

#include <atomic>
#include <cstdint>

namespace mpixrma::engine {

/// As engine/origin/mapped_segment.hpp, checked against the memory model with another `Atomic`.
template <template <typename> class Atomic>
class BasicMessageMark {
 public:
  /// Returns the sequence of the message; 0 means no wait. Acquire: pairs with the release in replace(), so
  /// that a thread that need not wait sees the effects of the messages, and its stores follow them.
  std::uint64_t get() const noexcept { return sequence_.load(std::memory_order_acquire); }

  /// Makes later accesses wait for everything up to `sequence`.
  void raise(std::uint64_t sequence) noexcept {
    // Relaxed: a thread that must wait because of this message knows of it by other means.
    std::uint64_t present = sequence_.load(std::memory_order_relaxed);
    while (present < sequence &&
           !sequence_.compare_exchange_weak(present, sequence, std::memory_order_relaxed,
                                            std::memory_order_relaxed)) {
    }
  }

  /// Called by a thread that has waited for the messages up to `sequence`. A later mark is kept.
  void clear(std::uint64_t sequence) noexcept { replace(sequence, 0); }
  /// As clear(), for a thread that must still wait for the messages up to `next`.
  void replace(std::uint64_t sequence, std::uint64_t next) noexcept {
    // Release: pairs with the acquire in get().
    sequence_.compare_exchange_strong(sequence, next, std::memory_order_release, std::memory_order_relaxed);
  }

 private:
  Atomic<std::uint64_t> sequence_{0};
};

using MessageMark = BasicMessageMark<std::atomic>;

}  // namespace mpixrma::engine
