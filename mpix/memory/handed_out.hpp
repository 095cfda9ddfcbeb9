/// The allocations of MPIX_RMA_Allocate and MPIX_RMA_Allocate_local, which only their counterparts may free.
/// The engine also allocates memory of windows, of MPI_Alloc_mem and of notification counters.
#pragma once

#include <mutex>
#include <unordered_set>

namespace mpixrma {

class HandedOut {
 public:
  /// Returns false if there is no memory to record the allocation.
  bool add(void* base) noexcept try {
    std::lock_guard const held(lock_);
    bases_.insert(base);
    return true;
  } catch (...) {
    return false;
  }
  bool contains(void* base) {
    std::lock_guard const held(lock_);
    return bases_.contains(base);
  }
  /// Returns false if `base` is not recorded. Only one of several concurrent callers gets true.
  bool remove(void* base) {
    std::lock_guard const held(lock_);
    return bases_.erase(base) != 0;
  }

 private:
  std::mutex lock_;
  std::unordered_set<void*> bases_;
};

}  // namespace mpixrma
