/// Visibility of this process's stores to window memory.
#pragma once

#include <atomic>

namespace mpixrma::windows {

/// Records whether there may be stores that other processes do not see yet.
class StoreFence {
 public:
  /// `thread_multiple`: several threads may use the window at once.
  explicit StoreFence(bool thread_multiple) noexcept : thread_multiple_(thread_multiple) {}

  bool is_thread_multiple() const noexcept { return thread_multiple_; }
  /// Records stores that complete() must make visible to other processes.
  void note() noexcept {
    if (!stored_.load(std::memory_order_relaxed)) stored_.store(true, std::memory_order_relaxed);
  }
  /// Drains this processor's store buffer, so that all processes see the stores. Skipped if all stores were
  /// atomic instructions, which imply it. With MPI_THREAD_MULTIPLE the record stays, because the stores of
  /// other threads are not tracked.
  void complete() noexcept {
    if (!stored_.load(std::memory_order_relaxed)) {
      std::atomic_thread_fence(std::memory_order_acq_rel);
      return;
    }
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (!thread_multiple_) stored_.store(false, std::memory_order_relaxed);
  }

 private:
  std::atomic<bool> stored_{true};
  bool const thread_multiple_;
};

}  // namespace mpixrma::windows
