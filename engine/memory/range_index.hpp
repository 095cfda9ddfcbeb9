/// The ranges of a published table in address order, for lock-free look-ups by other processes: a skip list
/// over the slots of the table. One process writes it.
///
/// A template of its atomics, as engine/memory/range_slot.hpp, so that lock_free_model_test.cpp can check it
/// against the memory model.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <vector>

#include "engine/memory/range_slot.hpp"

namespace mpixrma::engine {

/// `version_` is odd while links change. A search that finds a range need not check the version, because the
/// slot validates itself. A search without a result checks the version, and repeats if it has changed.
template <template <typename> class Atomic, std::uint32_t capacity, unsigned levels>
class BasicRangeIndex {
 public:
  using Slot = BasicRangeSlot<Atomic>;

  /// Returns the slot of the range that contains `address`, with its content; `capacity` if there is none.
  /// `slots` is the table, of which the first `end` slots may be in use.
  std::uint32_t find(Slot const* slots, std::uint32_t end, RemoteAddress address,
                     PublishedRange* out) const noexcept {
    for (int attempt = 0; attempt < attempts; ++attempt) {
      // Acquire: pairs with the release in finish_change(); the links are of that state or newer.
      std::uint64_t const version = version_.load(std::memory_order_acquire);
      std::uint32_t const place = last_up_to(slots, address);
      if (place < capacity && slots[place].read(out) && out->contains(address)) return place;
      // Relaxed: the acquire loads of the search order it behind them.
      bool const unchanged = version % 2 == 0 && version_.load(std::memory_order_relaxed) == version;
      if (place <= capacity && unchanged) return capacity;
    }
    return scan(slots, end, address, out);
  }

 private:
  template <template <typename> class A, std::uint32_t c, unsigned l>
  friend class BasicRangeIndexWriter;

  /// By level: the next slot plus one; 0 at the end.
  using Links = std::array<Atomic<std::uint32_t>, levels>;

  static constexpr int attempts = 64;
  // Far more than a search needs. Links that change during a search may form a cycle.
  static constexpr unsigned max_steps = 1024;

  /// Returns the last slot whose range begins at or before `address`; `capacity` if there is none;
  /// `capacity` + 1 if the links changed during the search so that they formed a cycle.
  std::uint32_t last_up_to(Slot const* slots, RemoteAddress address) const noexcept {
    std::uint32_t last = 0;
    unsigned steps = 0;
    for (unsigned level = levels; level-- != 0;) {
      for (;;) {
        Links const& links = last == 0 ? first_ : links_[last - 1];
        // Acquire: pairs with the release in set(); a link of a later state shows in the version.
        std::uint32_t const next = links[level].load(std::memory_order_acquire);
        if (next == 0 || next > capacity || slots[next - 1].base() > address) break;
        if (++steps == max_steps) return capacity + 1;
        last = next;
      }
    }
    return last == 0 ? capacity : last - 1;
  }

  /// Searches all slots, without the links: the fallback if the links have changed during every attempt.
  static std::uint32_t scan(Slot const* slots, std::uint32_t end, RemoteAddress address,
                            PublishedRange* out) noexcept {
    for (std::uint32_t i = 0; i < std::min(end, capacity); ++i) {
      if (slots[i].read(out) && out->contains(address)) return i;
    }
    return capacity;
  }

  Atomic<std::uint64_t> version_;
  Links first_;
  Links links_[capacity];
};

/// The writer. It reads a private copy of the links, because a faulty process may overwrite the published
/// ones.
template <template <typename> class Atomic, std::uint32_t capacity, unsigned levels>
class BasicRangeIndexWriter {
 public:
  using Index = BasicRangeIndex<Atomic, capacity, levels>;

  /// `index` is zero-initialised.
  void open(Index& index) noexcept { index_ = &index; }

  /// Readers see the insertions and removals between the two calls as one change, or search again.
  void begin_change() noexcept { index_->version_.store(++version_, std::memory_order_relaxed); }
  void finish_change() noexcept {
    // Release: pairs with the acquire in find().
    index_->version_.store(++version_, std::memory_order_release);
  }

  /// Inserts the range in `slot`, which is published and begins at the unique address `base`.
  void insert(std::uint32_t slot, RemoteAddress base) {
    if (slot >= nodes_.size()) nodes_.resize(slot + std::size_t{1});
    nodes_[slot] = Node{base, {}};
    // A quarter of the slots of each level are also in the next level.
    auto const zeros = static_cast<unsigned>(std::countl_zero(++inserted_ * 0x9e3779b97f4a7c15u));
    unsigned const height = std::min(1 + zeros / 2, levels);
    std::array<std::uint32_t, levels> const before = predecessors(base);
    for (unsigned level = 0; level < height; ++level) {
      set(slot + 1, level, next(before[level], level));
      set(before[level], level, slot + 1);
    }
    for (unsigned level = height; level < levels; ++level) set(slot + 1, level, 0);
  }

  /// `slot` must have been inserted.
  void remove(std::uint32_t slot) {
    std::array<std::uint32_t, levels> const before = predecessors(nodes_[slot].base);
    for (unsigned level = 0; level < levels; ++level) {
      if (next(before[level], level) == slot + 1) set(before[level], level, next(slot + 1, level));
    }
  }

 private:
  struct Node {
    RemoteAddress base = 0;
    std::array<std::uint32_t, levels> next{};
  };

  std::uint32_t next(std::uint32_t at, unsigned level) const noexcept {
    return (at == 0 ? first_ : nodes_[at - 1].next)[level];
  }
  void set(std::uint32_t at, unsigned level, std::uint32_t to) noexcept {
    (at == 0 ? first_ : nodes_[at - 1].next)[level] = to;
    // Release: pairs with the acquire in last_up_to(), which follows the link to a published slot.
    (at == 0 ? index_->first_ : index_->links_[at - 1])[level].store(to, std::memory_order_release);
  }
  /// By level: the last slot, plus one, that begins before `base`; 0: none.
  std::array<std::uint32_t, levels> predecessors(RemoteAddress base) const noexcept {
    std::array<std::uint32_t, levels> result{};
    std::uint32_t at = 0;
    for (unsigned level = levels; level-- != 0;) {
      for (std::uint32_t to = next(at, level); to != 0 && nodes_[to - 1].base < base; to = next(at, level)) {
        at = to;
      }
      result[level] = at;
    }
    return result;
  }

  Index* index_ = nullptr;
  std::uint64_t version_ = 0;
  std::uint64_t inserted_ = 0;
  std::array<std::uint32_t, levels> first_{};
  std::vector<Node> nodes_;  ///< by slot
};

}  // namespace mpixrma::engine
