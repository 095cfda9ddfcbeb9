/// A pool of completion objects, so that an operation with a request allocates no memory.
#pragma once

#include <mutex>

namespace mpixrma {

/// `Completion` has a member `next`, which the pool owns while the object is in the pool. Thread-safe.
/// Objects are never deallocated: an operation may still complete when the process ends.
template <typename Completion>
class CompletionPool {
 public:
  Completion* take() {
    std::lock_guard const held(lock_);
    if (first_ == nullptr) return new Completion;
    Completion* const completion = first_;
    first_ = completion->next;
    return completion;
  }

  void give_back(Completion* completion) noexcept {
    std::lock_guard const held(lock_);
    completion->next = first_;
    first_ = completion;
  }

 private:
  std::mutex lock_;
  Completion* first_ = nullptr;
};

}  // namespace mpixrma
