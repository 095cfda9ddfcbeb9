/// What the library keeps for each communicator that is used with it: the peer behind each rank and
/// what was issued to it through this communicator.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine/engine.hpp"

namespace mpix {

/// A rank of a communicator as a target of one-sided operations. Made at its first use.
struct Target {
  engine::Peer* peer = nullptr;
  int rank = MPI_PROC_NULL;
  std::uint32_t context = 0;  ///< mark of the communicator at the engine, for late errors

  /// Newest message that this communicator issued to the rank; Complete waits for no other.
  std::atomic<std::uint64_t> sequence{0};
  /// Stores were made directly to the rank's memory since the last completion.
  std::atomic<bool> stored{false};

  void note_store() noexcept {
    // Read first: a line that is only read stays shared between threads.
    if (!stored.load(std::memory_order_relaxed)) stored.store(true, std::memory_order_relaxed);
  }

  void note_message(std::uint64_t newest) noexcept {
    auto seen = sequence.load(std::memory_order_relaxed);
    while (seen < newest && !sequence.compare_exchange_weak(seen, newest, std::memory_order_relaxed)) {
    }
  }
};

class Communicator {
 public:
  /// The state of `comm`, made at its first use. nullptr when `comm` is not a live communicator or the
  /// engine does not run. Local; any thread that MPI's thread level allows.
  static Communicator* find(MPI_Comm comm);

  /// The target for `rank` (of the remote group for an intercommunicator), made at its first use.
  /// nullptr when the rank is out of range or its process cannot be reached.
  Target* target(int rank) {
    if (static_cast<unsigned>(rank) >= static_cast<unsigned>(size_)) return nullptr;
    Page const* const page = pages_[static_cast<std::size_t>(rank) / page_size].load(std::memory_order_acquire);
    if (page != nullptr) {
      Target* const known = page->targets[static_cast<std::size_t>(rank) % page_size].load(std::memory_order_acquire);
      if (known != nullptr) return known;
    }
    return make_target(rank);
  }

  /// Number of ranks that can be targets (the remote group's for an intercommunicator).
  int size() const noexcept { return size_; }
  MPI_Comm handle() const noexcept { return comm_; }

  /// Attribute bits that are set on the communicator (MPIX_RMA_ATTR_*), one word for the hot path.
  std::uint64_t attributes() const noexcept { return attributes_.load(std::memory_order_relaxed); }

  /// Calls `visit(Target&)` for every target made so far.
  template <typename Visitor>
  void for_each_target(Visitor visit);

 private:
  // Memory is taken per page of ranks that are talked to, not per rank of the job.
  static constexpr std::size_t page_size = 64;
  struct Page {
    std::atomic<Target*> targets[page_size];
  };

  Target* make_target(int rank);

  MPI_Comm comm_ = MPI_COMM_NULL;
  int size_ = 0;
  std::uint32_t context_ = 0;
  std::atomic<std::uint64_t> attributes_{0};
  std::unique_ptr<std::atomic<Page*>[]> pages_;
};

}  // namespace mpix
