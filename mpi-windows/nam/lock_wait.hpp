/// Waits for locks at a memory server (docs/decisions/0010-queued-locks.md).
///
/// A lock request first acquires the turn, a second lock whose holder is the next one to acquire the lock. An
/// exclusive request keeps the turn until the lock is released, a shared one until it has the lock. A shared
/// request of a process that holds other locks proceeds without the turn once its overtake delay is over: the
/// holder of the turn may be waiting, directly or indirectly, for these locks.
#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>

#include "engine/sync/lock.hpp"

namespace mpixrma::windows {

/// The time that requests of a process for the locks of a window wait for their turn before they overtake
/// others. Thread-safe.
class NamOvertakeDelay {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr Clock::duration first = std::chrono::milliseconds(10);
  static constexpr unsigned max_doublings = 6;

  /// The delay doubles for each time that the process has overtaken others at the rank since it last had its
  /// turn.
  Clock::duration at(int rank) const {
    std::lock_guard const held(mutex_);
    auto const found = passes_.find(rank);
    return found == passes_.end() ? first : first * (1u << std::min(found->second, max_doublings));
  }
  void note_passed(int rank) {
    std::lock_guard const held(mutex_);
    ++passes_[rank];
  }
  void note_turn(int rank) noexcept {
    std::lock_guard const held(mutex_);
    passes_.erase(rank);
  }

 private:
  mutable std::mutex mutex_;
  std::map<int, unsigned> passes_;  ///< number of passes by rank
};

/// One wait for the lock of a rank.
class NamLockWait {
 public:
  using Clock = NamOvertakeDelay::Clock;

  NamLockWait(NamOvertakeDelay& overtake_delay, int rank, engine::LockMode mode,
              Clock::time_point now = Clock::now())
      : overtake_delay_(overtake_delay), rank_(rank), mode_(mode), end_(now + overtake_delay.at(rank)) {}

  /// A request that overtakes is treated as if it had the turn. `try_lock(bool* has_turn)` is as
  /// NamWindow::try_lock; `holds_others()`: whether the process holds other locks. Returns true if the lock
  /// was acquired.
  template <typename TryLock, typename HoldsOthers>
  bool attempt(TryLock try_lock, HoldsOthers holds_others, Clock::time_point now = Clock::now()) {
    bool const shared = mode_ == engine::LockMode::shared;
    if (shared && !has_turn_ && now >= end_ && holds_others()) has_turn_ = overtakes_ = true;
    if (!try_lock(&has_turn_)) return false;
    overtakes_ ? overtake_delay_.note_passed(rank_) : overtake_delay_.note_turn(rank_);
    return true;
  }

 private:
  NamOvertakeDelay& overtake_delay_;
  int const rank_;
  engine::LockMode const mode_;
  Clock::time_point const end_;
  bool has_turn_ = false;
  bool overtakes_ = false;
};

}  // namespace mpixrma::windows
