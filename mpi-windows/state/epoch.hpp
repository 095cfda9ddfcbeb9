/// The epochs of a window.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "mpi-windows/state/spinlock.hpp"
#include "mpi-windows/state/target.hpp"

namespace mpixrma::windows {

/// The kind of the access epoch. A fence that announces operations does not open an epoch by itself; the
/// first operation does.
enum class Epoch : std::uint8_t { none, fence, group, locks, lock_all };

/// The condition for the first operation of an epoch on a target: none, the target's post, or its lock.
enum class Requirement : std::uint8_t { none, post, lock };

/// The access epoch, and the targets that are open in it.
struct AccessEpoch {
  explicit AccessEpoch(bool threads) noexcept : lock(threads) {}

  bool is(Epoch epoch) const noexcept { return kind.load(std::memory_order_relaxed) == epoch; }
  /// Whether the epoch is a passive-target epoch.
  bool is_passive() const noexcept {
    Epoch const now = kind.load(std::memory_order_relaxed);
    return now == Epoch::locks || now == Epoch::lock_all;
  }
  /// Whether no access epoch is open.
  bool is_none() const noexcept { return is(Epoch::none); }
  /// Whether a fence may follow: no epoch but one of fences is open.
  bool permits_fence() const noexcept {
    Epoch const now = kind.load(std::memory_order_relaxed);
    return now == Epoch::none || now == Epoch::fence;
  }
  /// Opens an epoch explicitly. Afterwards no operation can belong to the last fence.
  void begin(Epoch epoch) noexcept {
    kind.store(epoch, std::memory_order_relaxed);
    fence_open = false;
  }
  /// Determines whether operations may access the target, and what must be done first. Returns an error
  /// class.
  int check_access(Target const& target, Requirement* requirement) const noexcept;
  /// Lists the target as open.
  void add(Target& target) {
    target.open_index = opened.size();
    opened.push_back(&target);
  }
  /// Closes the target.
  void remove(Target& target) noexcept {
    opened.back()->open_index = target.open_index;
    opened[target.open_index] = opened.back();
    opened.pop_back();
    target.close();
  }

  std::atomic<Epoch> kind{Epoch::none};  ///< changed under the lock
  Spinlock lock;
  bool fence_open = false;  ///< operations may follow the last fence
  bool unchecked = false;   ///< MPI_MODE_NOCHECK
  std::vector<Target*> opened;
  std::size_t locks = 0;   ///< number of targets that MPI_Win_lock has locked
  std::vector<int> group;  ///< ranks of MPI_Win_start
};

inline int AccessEpoch::check_access(Target const& target, Requirement* requirement) const noexcept {
  *requirement = Requirement::none;
  switch (kind.load(std::memory_order_relaxed)) {
    case Epoch::none: return fence_open ? MPI_SUCCESS : MPI_ERR_RMA_SYNC;
    case Epoch::fence: return MPI_SUCCESS;
    case Epoch::group:
      if (!unchecked) *requirement = Requirement::post;
      return target.in_group ? MPI_SUCCESS : MPI_ERR_RMA_SYNC;
    case Epoch::lock_all:
      if (!unchecked) *requirement = Requirement::lock;
      return MPI_SUCCESS;
    case Epoch::locks: break;  // the lock calls have opened their targets
  }
  return MPI_ERR_RMA_SYNC;
}

/// The exposure epoch of MPI_Win_post.
struct ExposureEpoch {
  bool is_open = false;
  std::uint64_t completions_due = 0;  ///< total access epochs that the exposure epochs so far wait for
  std::vector<int> origins;           ///< ranks of the group
};

/// The owner in all lock requests of windows: a process holds the lock of a target of a window at most once.
inline constexpr std::uint32_t lock_owner = 1;

}  // namespace mpixrma::windows
