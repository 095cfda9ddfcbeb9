/// What the library keeps for each communicator that is used with it: the peer behind each rank and
/// what was issued to it through this communicator.
#pragma once

#include <mpi.h>

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
#include "mpix/notify/counters.hpp"
#include "mpix/visibility.hpp"

namespace mpixrma {

using engine::RemoteAddress;

/// A rank of a communicator as a target of one-sided operations. Made at its first use.
struct Target {
  engine::Peer* peer = nullptr;
  int rank = MPI_PROC_NULL;
  std::uint32_t context = 0;  ///< mark of the communicator at the engine, for late errors

  /// What this communicator has issued to the rank.
  engine::OutstandingMark outstanding;
};

class MPIX_WAIST_API Communicator {
 public:
  /// The state of `comm`, made at its first use. nullptr when `comm` is not a live communicator or the
  /// engine does not run. Local; any thread that MPI's thread level allows.
  static Communicator* find(MPI_Comm comm) {
    Communicator* const known = find_known(comm);
    return known != nullptr ? known : find_slowly(comm);
  }
  /// find() where it takes a few instructions only; else nullptr.
  static Communicator* find_known(MPI_Comm comm) noexcept { return cache_.find(comm); }

  /// In a child made by fork(): nothing is known any more.
  static void forget_known() noexcept { cache_.clear(); }

  /// The target for `rank` (of the remote group for an intercommunicator), made at its first use.
  /// nullptr when the rank is out of range or its process cannot be reached.
  Target* target(int rank) {
    if (Target* const known = known_target(rank)) return known;
    return static_cast<unsigned>(rank) < static_cast<unsigned>(size_) ? make_target(rank) : nullptr;
  }
  /// target() where it takes a few instructions only; else nullptr.
  Target* known_target(int rank) const noexcept {
    if (static_cast<unsigned>(rank) >= static_cast<unsigned>(size_)) return nullptr;
    // Acquire, twice: pairs with the releases in make_target().
    Page const* const page =
        pages_[static_cast<std::size_t>(rank) / page_size].load(std::memory_order_acquire);
    if (page == nullptr) return nullptr;
    return page->targets[static_cast<std::size_t>(rank) % page_size].load(std::memory_order_acquire);
  }

  /// Number of ranks that can be targets (the remote group's for an intercommunicator).
  int size() const noexcept { return size_; }
  /// Of this communicator alone, never used for another; 0 once it is freed.
  std::uint32_t context() const noexcept { return context_.load(std::memory_order_relaxed); }
  MPI_Comm handle() const noexcept { return comm_.get(); }

  /// Attribute bits that are set on the communicator (MPIX_RMA_ATTR_*), one word for the hot path; with
  /// attributes_outdated they have to be asked for with attributes(). Relaxed: the values behind it are under
  /// a lock.
  std::uint64_t attribute_word() const noexcept { return attribute_word_.load(std::memory_order_relaxed); }
  /// The attributes with their values, as they are now.
  MPIX_RMA_Attributes attributes();
  /// An attribute has changed. Takes no lock: called under MPI's own.
  void outdate_attributes() noexcept;

  /// Address that displacements to `rank` count from; 0: they are addresses.
  RemoteAddress base_of(int rank) const noexcept {
    return bases_.empty() ? 0 : bases_[static_cast<std::size_t>(rank)];
  }
  void set_bases(std::vector<RemoteAddress> bases) { bases_ = std::move(bases); }

  /// The notification counters of the ranks that can be targets, and of this process.
  Counters& counters() noexcept { return counters_; }

  /// Calls `visit(Target&)` for every target made so far.
  template <typename Visitor>
  void for_each_target(Visitor visit) {
    for (std::size_t i = 0; i < pages_count(); ++i) {
      Page* const page = pages_[i].load(std::memory_order_acquire);
      if (page == nullptr) continue;
      for (auto& entry : page->targets) {
        if (Target* const target = entry.load(std::memory_order_acquire)) visit(*target);
      }
    }
  }

  bool is_open() const noexcept { return comm_.is_published(); }

  /// Retires a state, for another communicator to use.
  static void give_back(Communicator& state);
  /// find_known() does not find the state any more; it stays in use.
  static void hide(Communicator& state) noexcept;

  /// The communicator is being freed: the state is reset and may be reused for another.
  void retire();
  /// Takes the state into use for `comm`.
  void open(MPI_Comm comm, std::uint32_t context);

 private:
  // Memory is taken per page of ranks that are talked to, not per rank of the job.
  static constexpr std::size_t page_size = 64;
  struct Page {
    std::atomic<Target*> targets[page_size] = {};
  };

  static Communicator* find_slowly(MPI_Comm comm);
  Target* make_target(int rank);
  std::size_t pages_count() const noexcept {
    return (static_cast<std::size_t>(size_) + page_size - 1) / page_size;
  }

  static HandleCache<MPI_Comm, Communicator> cache_;

  PublishedHandle<MPI_Comm> comm_;
  int size_ = 0;
  std::atomic<std::uint32_t> context_{0};
  std::atomic<std::uint64_t> attribute_word_{0};
  std::atomic<std::uint32_t> attribute_changes_{0};
  std::mutex attributes_lock_;
  MPIX_RMA_Attributes attributes_{};  ///< values behind the word
  std::vector<RemoteAddress> bases_;  ///< by rank; empty where none was declared
  Counters counters_;
  std::unique_ptr<std::atomic<Page*>[]> pages_;
};

/// Visits the state of every communicator that is in use.
void for_each_communicator(std::function<void(Communicator&)> const& visit);

/// Delete callback of the keyval that ties a state to its communicator.
int communicator_freed(MPI_Comm comm, int keyval, void* state, void* extra);

}  // namespace mpixrma
