/// The table of a window's targets by rank, each created at its first use.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>

#include "mpi-windows/state/target.hpp"

namespace mpixrma::windows {

/// A page of 64 ranks is allocated when the first of their targets is added, so that a large job costs no
/// memory for ranks without communication. Targets are read without a lock and added under a lock; the window
/// owns them.
class TargetTable {
 public:
  TargetTable() noexcept {
    for (auto& recent : recent_) recent.store(&no_target, std::memory_order_relaxed);
  }
  ~TargetTable() {
    for (std::size_t i = 0; i < page_count(); ++i) delete pages_[i].load(std::memory_order_relaxed);
  }
  TargetTable(TargetTable const&) = delete;
  TargetTable& operator=(TargetTable const&) = delete;

  /// Sizes the table for ranks below `size`. Must be called first.
  void open(int size) {
    size_ = size;
    pages_ = std::make_unique<std::atomic<Page*>[]>(page_count());
  }

  /// Returns nullptr if the rank is out of range or not used yet.
  Target* find(int rank) const noexcept {
    if (static_cast<unsigned>(rank) >= static_cast<unsigned>(size_)) return nullptr;
    auto const place = static_cast<std::size_t>(rank);
    // Acquire for both loads: they pair with the releases in add().
    Page const* const page = pages_[place / page_size].load(std::memory_order_acquire);
    return page == nullptr ? nullptr : page->targets[place % page_size].load(std::memory_order_acquire);
  }

  /// Returns the target for `rank` if an operation may access it at once; else nullptr, and open_target()
  /// must be called.
  Target* find_open(int rank) const noexcept {
    Target* const known = find(rank);
    // Acquire: pairs with the release in Target::open(); the operation follows the stores that opened the
    // epoch.
    return known != nullptr && known->access.load(std::memory_order_acquire) == EpochAccess::open ? known
                                                                                                  : nullptr;
  }
  /// Returns the target for `rank` if it is open or queued; else nullptr.
  Target* find_opened(int rank) const noexcept {
    Target* const known = find(rank);
    return known != nullptr && known->access.load(std::memory_order_acquire) >= EpochAccess::queued ? known
                                                                                                    : nullptr;
  }
  /// Returns the target if it was used recently; else a target without accessible memory.
  Target& recent(int rank) const noexcept {
    // Acquire: pairs with the release in note_recent().
    Target* const recent =
        recent_[static_cast<unsigned>(rank) % recent_count].load(std::memory_order_acquire);
    return recent->rank == rank ? *recent : no_target;
  }
  static bool is_none(Target const& target) noexcept { return &target == &no_target; }
  void note_recent(Target& target) noexcept {
    auto& recent = recent_[static_cast<unsigned>(target.rank) % recent_count];
    // Release: pairs with the acquire in recent().
    if (recent.load(std::memory_order_relaxed) != &target) recent.store(&target, std::memory_order_release);
  }

  void add(Target& target) {
    auto const place = static_cast<std::size_t>(target.rank);
    std::atomic<Page*>& page = pages_[place / page_size];
    // Release for both stores: they pair with the acquires in find().
    if (page.load(std::memory_order_relaxed) == nullptr) page.store(new Page, std::memory_order_release);
    Page* const there = page.load(std::memory_order_relaxed);
    there->targets[place % page_size].store(&target, std::memory_order_release);
  }

  /// Visits all targets added so far.
  template <typename Visitor>
  void for_each(Visitor visit) const {
    for (std::size_t i = 0; i < page_count(); ++i) {
      Page* const page = pages_[i].load(std::memory_order_acquire);
      if (page == nullptr) continue;
      // Not all places of the last page have a rank.
      std::size_t const ranks = std::min(page_size, static_cast<std::size_t>(size_) - i * page_size);
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        if (Target* const target = page->targets[rank].load(std::memory_order_acquire)) visit(*target);
      }
    }
  }

 private:
  static constexpr std::size_t page_size = 64;
  struct Page {
    std::atomic<Target*> targets[page_size] = {};
  };

  std::size_t page_count() const noexcept {
    return (static_cast<std::size_t>(size_) + page_size - 1) / page_size;
  }

  static constexpr std::size_t recent_count = 16;
  static Target no_target;  ///< target without a rank

  std::atomic<Target*> recent_[recent_count];  ///< recently used ranks, by their lowest bits
  int size_ = 0;
  std::unique_ptr<std::atomic<Page*>[]> pages_;
};

}  // namespace mpixrma::windows
