/// Allocations of MPIX_RMA_Allocate and MPIX_RMA_Allocate_local: only these may be freed by their
/// counterparts. The engine also allocates memory of windows, of MPI_Alloc_mem and of notification counters.
#pragma once

#include <mutex>
#include <unordered_set>

namespace mpixrma {

class HandedOut {
 public:
  /// False: no memory to record it.
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
  /// False: it is none of these. For one of several callers at a time it is.
  bool remove(void* base) {
    std::lock_guard const held(lock_);
    return bases_.erase(base) != 0;
  }

 private:
  std::mutex lock_;
  std::unordered_set<void*> bases_;
};

}  // namespace mpixrma
