/// From an MPI handle to our state of it, by one look into a small table without a lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace mpix {

/// `State` has `handle() const`. States are never deallocated, only reused: a thread that reads an entry
/// while another replaces it sees some state, and compares the handle.
template <typename Handle, typename State>
class HandleCache {
 public:
  State* find(Handle handle) const noexcept {
    State* const state = entries_[slot_of(handle)].load(std::memory_order_acquire);
    return state != nullptr && state->handle() == handle ? state : nullptr;
  }
  void insert(State& state) noexcept {
    entries_[slot_of(state.handle())].store(&state, std::memory_order_release);
  }

 private:
  static constexpr std::size_t size = 64;
  static std::size_t slot_of(Handle handle) noexcept {
    // Handles of Open MPI are pointers to objects of some hundred bytes.
    auto const bits = reinterpret_cast<std::uintptr_t>(handle);
    return (bits >> 6 ^ bits >> 12) % size;
  }

  std::atomic<State*> entries_[size] = {};
};

}  // namespace mpix
