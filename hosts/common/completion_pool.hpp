/// Completion objects that are used again: an operation with a request takes no memory from the system.
#pragma once

#include <mutex>

namespace mpixrma {

/// `Completion` has a member `next`, which is the pool's while the object is there. Any thread. Objects are never
/// given back to the system: one may still be told of its operation when the process ends.
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
