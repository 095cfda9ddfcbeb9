/// The newest message that something has to wait for.
#pragma once

#include <atomic>
#include <cstdint>

namespace mpixrma::engine {

/// As engine/origin/mapped_segment.hpp, checked against the memory model with another `Atomic`.
template <template <typename> class Atomic>
class BasicMessageMark {
 public:
  /// Sequence of the message, 0: none, wait for nothing. Acquire: pairs with the release in clear(); who need
  /// not wait sees what the messages have done, and what it stores comes after that.
  std::uint64_t get() const noexcept { return sequence_.load(std::memory_order_acquire); }

  /// Everything up to `sequence` has to be waited for.
  void raise(std::uint64_t sequence) noexcept {
    // Relaxed: a thread that has to wait because of this one knows of it by other means.
    std::uint64_t present = sequence_.load(std::memory_order_relaxed);
    while (present < sequence &&
           !sequence_.compare_exchange_weak(present, sequence, std::memory_order_relaxed,
                                            std::memory_order_relaxed)) {
    }
  }

  /// By a thread that has waited for the messages up to `sequence`. A later mark stays.
  void clear(std::uint64_t sequence) noexcept {
    // Release: pairs with the acquire in get().
    sequence_.compare_exchange_strong(sequence, 0, std::memory_order_release, std::memory_order_relaxed);
  }

 private:
  Atomic<std::uint64_t> sequence_{0};
};

using MessageMark = BasicMessageMark<std::atomic>;

}  // namespace mpixrma::engine
