/// A range of a process's memory in a table that other processes read without a lock.
///
/// A template of its atomics, so that lock_free_model_test.cpp can check it against the memory model.
#pragma once

#include <atomic>
#include <cstdint>

#include "engine/op/operation.hpp"

namespace mpixrma::engine {

inline constexpr std::uint32_t internal_segment = 1;  ///< AllocationHints::internal

/// The content of a slot.
struct PublishedRange {
  RemoteAddress base = 0;    ///< virtual address in the owner
  std::uint64_t length = 0;  ///< in bytes
  std::uint32_t number = 0;  ///< meaning depends on the table: see PublishedTables
  std::uint64_t generation = 0;
  std::uint32_t rights = 0;  ///< of an exposure; of a segment: internal_segment or 0

  bool contains(RemoteAddress address) const noexcept { return address >= base && address - base < length; }
};

/// `generation_` is odd while the slot has content. It only grows, and an old value never recurs. So a reader
/// that finds the same odd value before and after it reads the other members has read one consistent state.
template <template <typename> class Atomic>
class BasicRangeSlot {
 public:
  /// Called by the owner. `range.generation` is odd, and larger than any before.
  void publish(PublishedRange const& range) noexcept {
    // Release: each store pairs with the acquire of that value in read(). A reader that sees a new value also
    // sees the withdrawal before it, and rejects the slot if it has read the generation of the previous use.
    base_.store(range.base, std::memory_order_release);
    length_.store(range.length, std::memory_order_release);
    number_.store(range.number, std::memory_order_release);
    rights_.store(range.rights, std::memory_order_release);
    // Release: pairs with the first acquire in read().
    generation_.store(range.generation, std::memory_order_release);
  }

  /// Called by the owner: frees the slot; `generation` is even. Sequentially consistent: a peer that starts
  /// an operation after free() has returned sees the change.
  void withdraw(std::uint64_t generation) noexcept {
    generation_.store(generation, std::memory_order_seq_cst);
  }

  /// Called by any process: returns false if the slot is free or changes concurrently.
  bool read(PublishedRange* out) const noexcept {
    // Acquire: pairs with the last release in publish(); the values below are of that use or a later one.
    std::uint64_t const generation = generation_.load(std::memory_order_acquire);
    if (generation % 2 == 0) return false;
    // Acquire: each load pairs with the release of that value in publish(); a value of a later use is
    // detected below.
    PublishedRange const range{base_.load(std::memory_order_acquire), length_.load(std::memory_order_acquire),
                               number_.load(std::memory_order_acquire), generation,
                               rights_.load(std::memory_order_acquire)};
    // Relaxed: the acquire loads above order it behind them.
    if (generation_.load(std::memory_order_relaxed) != generation) return false;
    *out = range;
    return true;
  }

  /// Returns the base of the current or a previous range. Acquire: pairs with the release in publish(), so
  /// that a reader that sees a later use also sees the changes before it.
  RemoteAddress base() const noexcept { return base_.load(std::memory_order_acquire); }

  /// For a later comparison with the result of read(): the range is gone if the values differ.
  Atomic<std::uint64_t> const& generation() const noexcept { return generation_; }

 private:
  Atomic<std::uint64_t> generation_;
  Atomic<std::uint64_t> base_;
  Atomic<std::uint64_t> length_;
  Atomic<std::uint32_t> number_;
  Atomic<std::uint32_t> rights_;
};

using RangeSlot = BasicRangeSlot<std::atomic>;
static_assert(sizeof(RangeSlot) == 32);

}  // namespace mpixrma::engine
