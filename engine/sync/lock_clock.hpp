/// Logical time of locks (Lamport). It orders waiting exclusive requests and the holders that block them
/// (docs/decisions/0010-queued-locks.md).
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "engine/sync/lock.hpp"
#include "engine/sync/shared_lock.hpp"

namespace mpixrma::engine {

/// The clock of one process and, for each of its locks in shared memory, the time of the earliest waiting
/// exclusive request. In memory shared by the processes of its host; zero-initialised memory is a clock.
///
/// The owner of the locks publishes a request (announce(), then tick()) after it has set `queued` in the
/// lock's word; a holder raises the clock and then reads the published time (bound()). All accesses are
/// sequentially consistent: if a holder does not see a request, the request is not earlier than the time to
/// which the holder has raised the clock.
class LockClock {
 public:
  /// Maximum time. From then on times are equal, and holders pass requests instead of waiting for them.
  static constexpr LockTime last = LockTime{1} << 62;

  /// Returns a time later than every request that the clock has assigned a time to.
  LockTime now() const noexcept { return ticks_.load(std::memory_order_seq_cst) + 1; }

  /// Afterwards now() is not earlier than `time`.
  void raise(LockTime time) noexcept {
    LockTime const wanted = std::min(time, last) - std::min<LockTime>(time, 1);
    LockTime present = ticks_.load(std::memory_order_seq_cst);
    while (present < wanted && !ticks_.compare_exchange_weak(present, wanted, std::memory_order_seq_cst)) {
    }
  }

  /// Returns the time of a new exclusive request: not earlier than any time that the clock was raised to.
  LockTime tick() noexcept {
    LockTime present = ticks_.load(std::memory_order_seq_cst);
    while (present + 1 < last &&
           !ticks_.compare_exchange_weak(present, present + 1, std::memory_order_seq_cst)) {
    }
    return present + 1;
  }

  /// Announces that an exclusive request for the lock is about to get its time.
  void announce(LockId lock) noexcept { publish(lock, now()); }
  /// `time` is that of the earliest exclusive request that waits for the lock; 0: none. Does nothing for a
  /// lock that is not in shared memory.
  void publish(LockId lock, LockTime time) noexcept {
    if (lock < shared_lock_count) earliest_[lock].store(time, std::memory_order_seq_cst);
  }

  /// For a holder of the lock: returns a time, not later than `time`, such that no exclusive request for the
  /// lock is or will be earlier while the holder holds the lock.
  LockTime bound(LockId lock, LockTime time) noexcept {
    raise(time);
    LockTime const earliest = earliest_[lock].load(std::memory_order_seq_cst);
    return earliest != 0 ? std::min(time, earliest) : time;
  }

 private:
  std::atomic<LockTime> ticks_;
  std::array<std::atomic<LockTime>, shared_lock_count> earliest_;
};

}  // namespace mpixrma::engine
