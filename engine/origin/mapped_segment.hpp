/// One mapped segment of a peer, read without a lock while other threads replace it.
///
/// The memory orders are essential, so tests/engine/lock_free_model_test.cpp checks them against the memory
/// model of the language with another `Atomic`. No fences, because ThreadSanitizer does not support them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/op/operation.hpp"

namespace mpixrma::engine {

/// A consistent copy of a MappedSegment.
template <template <typename> class Atomic>
struct BasicSegmentView {
  RemoteAddress begin = 0;
  std::uint64_t length = 0;    ///< in bytes; 0: empty
  std::byte* local = nullptr;  ///< mapped address of `begin`
  Atomic<std::uint64_t> const* owner_generation = nullptr;
  std::uint64_t generation = 0;

  /// Returns a local pointer to the `bytes` bytes at `address`, or nullptr if they are not in this segment or
  /// the segment is gone.
  std::byte* translate(RemoteAddress address, std::size_t bytes) const noexcept {
    RemoteAddress const offset = address - begin;
    if (bytes > length || offset > length - bytes || is_gone()) return nullptr;
    return local + offset;
  }
  /// For a non-empty view: whether the segment is gone.
  bool is_gone() const noexcept {
    // Acquire: pairs with the release in BasicRangeSlot::withdraw, so that a thread that knows of the
    // withdrawal does not access the freed memory.
    return owner_generation->load(std::memory_order_acquire) != generation;
  }
};

/// `version_` is odd while the other members change. `generation_` is compared with the owner's, so that a
/// freed segment is never accessed.
template <template <typename> class Atomic>
class BasicMappedSegment {
 public:
  using View = BasicSegmentView<Atomic>;

  /// As View::translate, for the current content.
  std::byte* translate(RemoteAddress address, std::size_t bytes) const noexcept {
    // Acquire: pairs with the release at the end of assign(); everything below is of that state or newer.
    auto const version = version_.load(std::memory_order_acquire);
    // Each value is used at once, to need few registers. Values of two different states only lead to the slow
    // path, or are detected by the version at the end. Acquire, here and below: each load pairs with the
    // release of that value in assign(), so that a thread that has seen a new value sees at the end that the
    // version is odd.
    RemoteAddress const offset = address - begin_.load(std::memory_order_acquire);
    // In addition, a nonzero length implies a valid `owner_generation_`, which is stored before.
    std::uint64_t const length = length_.load(std::memory_order_acquire);
    if (offset >= length || bytes > length - offset) return nullptr;
    auto const* const owner = owner_generation_.load(std::memory_order_acquire);
    // Acquire: as in View::is_gone.
    if (owner->load(std::memory_order_acquire) != generation_.load(std::memory_order_acquire)) return nullptr;
    std::byte* const local = local_.load(std::memory_order_acquire);
    // Relaxed: the acquire loads above order it behind them.
    if (version_.load(std::memory_order_relaxed) != version || version % 2 != 0) return nullptr;
    return local + offset;
  }

  /// Returns a consistent copy; empty while the content changes.
  View view() const noexcept {
    // The orders and their reasons are those of translate().
    auto const version = version_.load(std::memory_order_acquire);
    View const view{begin_.load(std::memory_order_acquire), length_.load(std::memory_order_acquire),
                    local_.load(std::memory_order_acquire), owner_generation_.load(std::memory_order_acquire),
                    generation_.load(std::memory_order_acquire)};
    bool const same = version_.load(std::memory_order_relaxed) == version && version % 2 == 0;
    return same ? view : View{};
  }

  /// Replaces the content. A second writer waits for the first.
  void assign(View const& view) noexcept {
    std::uint32_t version = version_.load(std::memory_order_relaxed);
    do {
      version &= ~std::uint32_t{1};
      // Acquire: pairs with the release at the end of the previous writer.
    } while (!version_.compare_exchange_weak(version, version + 1, std::memory_order_acquire,
                                             std::memory_order_relaxed));
    // Release: each store pairs with the acquire of that value in translate() and view().
    begin_.store(view.begin, std::memory_order_release);
    local_.store(view.local, std::memory_order_release);
    owner_generation_.store(view.owner_generation, std::memory_order_release);
    generation_.store(view.generation, std::memory_order_release);
    // After `owner_generation_`, which a reader dereferences once the length is nonzero.
    length_.store(view.length, std::memory_order_release);
    // Release: pairs with the first acquire in translate() and view(), and with that of the next writer.
    version_.store(version + 2, std::memory_order_release);
  }

 private:
  Atomic<std::uint32_t> version_{0};
  Atomic<RemoteAddress> begin_{0};
  Atomic<std::uint64_t> length_{0};    ///< in bytes; 0: empty, and the other members are not used
  Atomic<std::byte*> local_{nullptr};  ///< mapped address of `begin_`
  Atomic<Atomic<std::uint64_t> const*> owner_generation_{nullptr};
  Atomic<std::uint64_t> generation_{0};
};

using SegmentView = BasicSegmentView<std::atomic>;
using MappedSegment = BasicMappedSegment<std::atomic>;

}  // namespace mpixrma::engine
