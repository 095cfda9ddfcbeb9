/// The library's state for each communicator that a program passes to it: the peer of each rank, and the
/// operations issued to that rank through this communicator.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "datatype/handle_cache.hpp"
#include "engine/origin/outstanding_mark.hpp"
#include "engine/runtime/engine.hpp"
#include "include/mpix_rma.h"
#include "mpix/comm/counters.hpp"
#include "mpix/runtime/visibility.hpp"

namespace mpixrma {

using engine::RemoteAddress;

/// A rank of a communicator as a target of one-sided operations. Created at its first use.
struct Target {
  engine::Peer* peer = nullptr;
  int rank = MPI_PROC_NULL;
  std::uint32_t context = 0;  ///< identifies the communicator in the engine's late errors

  /// The operations that were issued to the rank through this communicator.
  engine::OutstandingMark outstanding;
};

class MPIX_INTERNAL_API Communicator {
 public:
  /// Returns the state of `comm`, created at its first use; nullptr if `comm` is not a live communicator or
  /// the engine is not running. Local; any thread that MPI's thread level allows.
  static Communicator* find(MPI_Comm comm) {
    Communicator* const known = find_known(comm);
    return known != nullptr ? known : find_slow_path(comm);
  }
  /// As find(), but returns nullptr if the look-up needs more than a few instructions.
  static Communicator* find_known(MPI_Comm comm) noexcept { return cache_.find(comm); }

  /// As find(), but creates nothing: nullptr if `comm` has no state. Requires a live `comm` and a running
  /// engine.
  __attribute__((visibility("hidden"))) static Communicator* find_existing(MPI_Comm comm);

  /// Empties the cache, in a child made by fork() and when MPI ends.
  static void forget_known() noexcept { cache_.clear(); }

  /// Returns the target for `rank` (of the remote group for an intercommunicator), created at its first use;
  /// nullptr if the rank is out of range or its process cannot be reached.
  Target* target(int rank) {
    if (Target* const known = known_target(rank)) return known;
    return static_cast<unsigned>(rank) < static_cast<unsigned>(size_) ? make_target(rank) : nullptr;
  }
  /// As target(), but returns nullptr if the look-up needs more than a few instructions.
  Target* known_target(int rank) const noexcept {
    if (static_cast<unsigned>(rank) >= static_cast<unsigned>(size_)) return nullptr;
    // Acquire for both loads: they pair with the releases in entry_of() and make_target().
    Page const* const page =
        pages_[static_cast<std::size_t>(rank) / page_size].load(std::memory_order_acquire);
    if (page == nullptr) return nullptr;
    return page->targets[static_cast<std::size_t>(rank) % page_size].load(std::memory_order_acquire);
  }

  /// Number of ranks that can be targets (the remote group's for an intercommunicator).
  int size() const noexcept { return size_; }
  /// Identifies this communicator; never reused for another one. 0 once the communicator is freed.
  std::uint32_t context() const noexcept { return context_.load(std::memory_order_relaxed); }
  MPI_Comm handle() const noexcept { return comm_.get(); }

  /// The attribute bits that are set on the communicator (MPIX_RMA_ATTR_*) in one word for the hot path. If
  /// attributes_outdated is set, attributes() must be called. Relaxed, because a lock protects the values.
  std::uint64_t attribute_word() const noexcept { return attribute_word_.load(std::memory_order_relaxed); }
  /// Returns the current attributes with their values.
  MPIX_RMA_Attributes attributes();
  /// Marks the attributes as changed. Takes no lock, because it is called under MPI's own.
  void outdate_attributes() noexcept;

  /// The notification counters of the ranks that can be targets, and of this process.
  Counters& counters() noexcept { return counters_; }

  /// Calls `visit(Target&)` for every target made so far.
  template <typename Visitor>
  void for_each_target(Visitor visit) {
    auto const ranks = static_cast<std::size_t>(size_);
    for (std::size_t i = 0; i * page_size < ranks; ++i) {
      Page* const page = pages_[i].load(std::memory_order_acquire);
      if (page == nullptr) continue;
      // A communicator of few ranks uses a small part of its page.
      std::size_t const used = std::min(page_size, ranks - i * page_size);
      for (std::size_t entry = 0; entry < used; ++entry) {
        if (Target* const target = page->targets[entry].load(std::memory_order_acquire)) visit(*target);
      }
    }
  }

  /// Stores the failure of an operation that was issued while context() was `context`, and whose request was
  /// freed: the next completion call that covers the target `error.rank` reports it. May be called by a
  /// completion.
  __attribute__((visibility("hidden"))) void keep_failure(std::uint32_t context,
                                                          engine::LateError const& error) noexcept;

  bool is_open() const noexcept { return comm_.is_published(); }

  /// Retires a state and returns it to the pool.
  static void give_back(Communicator& state);
  /// Removes the state from the cache of find_known(); the state stays in use.
  static void hide(Communicator& state) noexcept;

  /// Resets the state of a communicator that is being freed, so that another communicator can use the state.
  void retire();
  /// Initialises the state for `comm`.
  void open(MPI_Comm comm, std::uint32_t context);

 private:
  // A page holds the targets of `page_size` consecutive ranks, and is allocated at the first use of one.
  static constexpr std::size_t page_size = 64;
  struct Page {
    std::atomic<Target*> targets[page_size] = {};
  };

  static Communicator* find_slow_path(MPI_Comm comm);
  Target* make_target(int rank);
  std::atomic<Target*>& entry_of(int rank);
  std::size_t pages_count() const noexcept {
    return (static_cast<std::size_t>(size_) + page_size - 1) / page_size;
  }

  static HandleCache<MPI_Comm, Communicator> cache_;

  PublishedHandle<MPI_Comm> comm_;
  int size_ = 0;
  std::atomic<std::uint32_t> context_{0};
  std::atomic<std::uint64_t> attribute_word_{0};
  std::atomic<std::uint32_t> attribute_changes_{0};
  std::mutex retiring_lock_;  ///< while it is held, a state with a context keeps its targets
  std::mutex attributes_lock_;
  MPIX_RMA_Attributes attributes_{};  ///< the values of the attributes
  Counters counters_;
  std::unique_ptr<std::atomic<Page*>[]> pages_;
};

/// Visits the state of every communicator that is in use.
void for_each_communicator(std::function<void(Communicator&)> const& visit);

/// Delete callback of the keyval that attaches a state to its communicator.
int communicator_freed(MPI_Comm comm, int keyval, void* state, void* extra);

}  // namespace mpixrma
