/// Atomicity beyond a single CPU instruction: locks over address stripes of a process.
///
/// The locks are in the control segment, for origins of the host and the process's own agent. The virtual
/// address in the process selects the stripe. An operation locks memory that it updates exclusively, memory
/// that it only reads shared, stripes in ascending order. Without messages, those of the process with the
/// lower identity come first. For a message the origin acquires its own first; a target with a lower identity
/// does not wait but replies `busy`, and the origin releases them until its next attempt: no deadlock occurs.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/op/kernel/update_modes.hpp"
#include "engine/op/operation.hpp"
#include "engine/sync/stripe_lock.hpp"

namespace mpixrma::engine {

/// Bit i set: stripe i is needed.
using StripeSet = std::uint64_t;

inline constexpr unsigned stripe_count = 64;
inline constexpr unsigned stripe_shift = 14;  ///< 16 KiB: one lock for a small operation, few for a large one

/// Returns the stripes of the addresses [begin, end).
constexpr StripeSet stripes_of(RemoteAddress begin, RemoteAddress end) noexcept {
  if (begin >= end) return 0;
  RemoteAddress const first = begin >> stripe_shift;
  RemoteAddress const last = (end - 1) >> stripe_shift;
  if (last - first >= stripe_count - 1) return ~StripeSet{0};
  auto const width = static_cast<unsigned>(last - first + 1);
  auto const shift = static_cast<unsigned>(first % stripe_count);
  StripeSet const ones = (StripeSet{1} << width) - 1;
  return shift == 0 ? ones : (ones << shift) | (ones >> (stripe_count - shift));
}

/// The stripes of one process that an operation needs. A stripe in both sets is acquired exclusively.
struct StripeSets {
  StripeSet exclusive = 0;
  StripeSet shared = 0;

  constexpr bool empty() const noexcept { return (exclusive | shared) == 0; }
  constexpr StripeSets operator|(StripeSets const& other) const noexcept {
    return {exclusive | other.exclusive, shared | other.shared};
  }
};

/// The state by which the processes of a host implement atomicity.
struct StripeTable {
  std::array<StripeLock, stripe_count> locks;
  UpdateModes modes;

  StripeLock& operator[](std::size_t stripe) noexcept { return locks[stripe]; }
};
static_assert(granule_shift <= stripe_shift &&
                  (granule_count << granule_shift) % (std::size_t{stripe_count} << stripe_shift) == 0,
              "granules that share a mode share a stripe");

/// Switches the memory at [begin, end) in a process with this table to updates of single elements. Waits for
/// the stripes as StripeGuard does.
void switch_to_elements(StripeTable& table, RemoteAddress begin, RemoteAddress end) noexcept;

/// Addresses that differ by a multiple of this period have the same stripe and the same mode.
inline constexpr std::size_t stripe_period = granule_count << granule_shift;

/// Holds a set of stripes exclusively for a scope. Waits without driving progress: only for scopes whose
/// stripes are never held across messages to this process.
class StripeGuard {
 public:
  StripeGuard(StripeTable& table, StripeSet set) noexcept : table_(table), set_(set) {
    if (set != 0) lock();
  }
  ~StripeGuard() {
    for (StripeSet rest = set_; rest != 0; rest &= rest - 1)
      table_[static_cast<unsigned>(__builtin_ctzll(rest))].unlock();
  }
  StripeGuard(StripeGuard const&) = delete;
  StripeGuard& operator=(StripeGuard const&) = delete;

 private:
  void lock() noexcept;

  StripeTable& table_;
  StripeSet set_;
};

/// Holds the single stripe of a small range for a scope if it is available at once.
class SmallGuard {
 public:
  /// `self` is own_process_id().
  SmallGuard(StripeTable& table, RemoteAddress begin, RemoteAddress end, pid_t self) noexcept {
    RemoteAddress const stripe = begin >> stripe_shift;
    if (stripe != (end - 1) >> stripe_shift) return;
    StripeLock& lock = table[stripe % stripe_count];
    if (lock.try_lock_untouched(self)) held_ = &lock;
  }
  ~SmallGuard() {
    if (held_ != nullptr) held_->unlock();
  }
  SmallGuard(SmallGuard const&) = delete;
  SmallGuard& operator=(SmallGuard const&) = delete;

  bool is_held() const noexcept { return held_ != nullptr; }

 private:
  StripeLock* held_ = nullptr;
};

/// Stripes of one process that are acquired step by step without blocking, and may be held for long. Movable,
/// as std::unique_lock.
class UniqueStripeLock {
 public:
  UniqueStripeLock() = default;
  UniqueStripeLock(StripeTable& table, StripeSets const& wanted) noexcept;
  ~UniqueStripeLock() { release(); }
  UniqueStripeLock(UniqueStripeLock&& other) noexcept { swap(other); }
  UniqueStripeLock& operator=(UniqueStripeLock&& other) noexcept {
    swap(other);
    return *this;
  }

  /// Acquires as many of the remaining stripes as possible, in order, and keeps them; a stripe that readers
  /// have yet to leave stays announced. Returns true when all are acquired.
  bool acquire() noexcept;
  /// Releases all stripes; acquire() then starts anew.
  void release() noexcept;

 private:
  void swap(UniqueStripeLock& other) noexcept;
  StripeLock& lock_of(StripeSet rest) const noexcept {
    return (*table_)[static_cast<unsigned>(__builtin_ctzll(rest))];
  }

  StripeTable* table_ = nullptr;
  StripeSet wanted_ = 0;
  StripeSet exclusive_ = 0;  ///< stripes of `wanted_` that are exclusive
  StripeSet held_ = 0;
  StripeSet announced_ = 0;  ///< at most one more stripe, which readers still have to leave
};

/// The stripes of an operation in two processes, in acquisition order.
struct StripeLockPair {
  UniqueStripeLock first;
  UniqueStripeLock second;

  /// Acquires as many of the remaining stripes as possible; true when all are acquired.
  bool acquire() noexcept { return first.acquire() && second.acquire(); }
};

}  // namespace mpixrma::engine
