/// From an MPI handle, of a datatype or a communicator, to our state of it, by one look into a small table
/// without a lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "datatype/handle.hpp"

namespace mpixrma {

/// The handle that a state stands for. It is what tells readers that the state is theirs, so it appears after
/// the rest of the state is set.
template <typename Handle, template <typename> class Atomic = std::atomic>
class PublishedHandle {
 public:
  /// Acquire: pairs with the release in publish(). States are reused: whoever finds its handle here sees
  /// what was set for it, not what an earlier use has left.
  Handle get() const noexcept { return handle_.load(std::memory_order_acquire); }

  /// Of a state whose other members are set.
  void publish(Handle handle) noexcept { handle_.store(handle, std::memory_order_release); }

  /// No handle from here on. Not a null handle, which might be looked up.
  void withdraw() noexcept { publish(no_handle()); }

  bool is_published() const noexcept {
    Handle const handle = get();
    return handle != Handle{} && handle != no_handle();
  }

 private:
  static Handle no_handle() noexcept { return handle_of<Handle>(1); }  // MPI has no object there

  Atomic<Handle> handle_{Handle{}};
};

/// `State` has `handle() const`, of a PublishedHandle. States are never deallocated, only reused: a thread
/// that reads an entry while another replaces it sees some state, and compares the handle.
template <typename Handle, typename State, template <typename> class Atomic = std::atomic>
class HandleCache {
 public:
  State* find(Handle handle) const noexcept {
    // Acquire: pairs with the release in insert(), for the construction of the state.
    State* const state = entries_[slot_of(handle)].load(std::memory_order_acquire);
    return state != nullptr && state->handle() == handle ? state : nullptr;
  }
  void clear() noexcept {
    for (auto& entry : entries_) entry.store(nullptr, std::memory_order_relaxed);
  }
  /// While nobody inserts another state of the same handle.
  void remove(State& state) noexcept {
    State* expected = &state;
    entries_[slot_of(state.handle())].compare_exchange_strong(expected, nullptr, std::memory_order_relaxed);
  }
  void insert(State& state) noexcept {
    entries_[slot_of(state.handle())].store(&state, std::memory_order_release);
  }

 private:
  static constexpr std::size_t size = 64;
  static std::size_t slot_of(Handle handle) noexcept {
    auto const bits = number_of(handle);
    // Pointers lead to objects of some hundred bytes; integers differ in their last bits.
    if constexpr (std::is_pointer_v<Handle>) return (bits >> 6 ^ bits >> 12) % size;
    return bits % size;
  }

  Atomic<State*> entries_[size] = {};
};

/// Grows whenever an object is freed whose handle is kept here: the handle may come to name another.
inline constinit std::atomic<std::uint64_t> handles_epoch{1};
inline void forget_handles() noexcept { handles_epoch.fetch_add(1, std::memory_order_release); }

}  // namespace mpixrma
