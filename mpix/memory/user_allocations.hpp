/// The allocations of MPIX_RMA_Allocate, MPIX_RMA_Allocate_local and MPI_Alloc_mem: each is freed by its
/// counterpart alone. The engine also allocates memory of windows and of notification counters.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>

namespace mpixrma {

/// The call that has allocated memory.
enum class Allocator : std::uint8_t { none, collective, local, mpi };

class UserAllocations {
 public:
  /// Returns false if there is no memory to record the allocation.
  bool add(void* base, Allocator allocator) noexcept try {
    std::lock_guard const held(lock_);
    bases_.insert_or_assign(base, allocator);
    return true;
  } catch (...) {
    return false;
  }
  Allocator allocator_of(void* base) {
    std::lock_guard const held(lock_);
    auto const found = bases_.find(base);
    return found != bases_.end() ? found->second : Allocator::none;
  }
  /// Returns false if `base` is not recorded. Only one of several concurrent callers gets true.
  bool remove(void* base) {
    std::lock_guard const held(lock_);
    return bases_.erase(base) != 0;
  }

 private:
  std::mutex lock_;
  std::unordered_map<void*, Allocator> bases_;
};

/// The allocations of this process.
inline UserAllocations user_allocations;

}  // namespace mpixrma
