/// A lock-free cache from an MPI handle (datatype or communicator) to the library's state of the object, with
/// one access to a small table.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "datatype/handle.hpp"

namespace mpixrma {

/// The handle that a state belongs to. Readers compare it to verify that they found the right state, so it is
/// published after the rest of the state is set.
template <typename Handle, template <typename> class Atomic = std::atomic>
class PublishedHandle {
 public:
  /// Acquire: pairs with the release in publish(). States are reused: a reader that finds its handle here
  /// sees the members set for that handle, not those of an earlier use.
  Handle get() const noexcept { return handle_.load(std::memory_order_acquire); }

  /// Publishes a state whose other members are set.
  void publish(Handle handle) noexcept { handle_.store(handle, std::memory_order_release); }

  /// Invalidates the state. Does not store a null handle, which might be looked up.
  void withdraw() noexcept { publish(no_handle()); }

  bool is_published() const noexcept {
    Handle const handle = get();
    return handle != Handle{} && handle != no_handle();
  }

 private:
  static Handle no_handle() noexcept { return handle_from<Handle>(1); }  // no MPI object has this address

  Atomic<Handle> handle_{Handle{}};
};

/// `State` has `handle() const`, which returns the handle of a PublishedHandle. States are never deallocated,
/// only reused: a thread that reads an entry while another thread replaces it sees some state, and compares
/// the handle.
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
  /// Must not run concurrently with an insert() of the same handle.
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
    auto const bits = word_of(handle);
    // Pointers lead to objects of some hundred bytes; integer handles differ in their last bits.
    if constexpr (std::is_pointer_v<Handle>) return (bits >> 6 ^ bits >> 12) % size;
    return bits % size;
  }

  Atomic<State*> entries_[size] = {};
};

/// Incremented whenever an object is freed whose handle is cached: MPI may reuse the handle for another
/// object.
inline constinit std::atomic<std::uint64_t> handles_generation{1};
inline void forget_handles() noexcept { handles_generation.fetch_add(1, std::memory_order_release); }

}  // namespace mpixrma
