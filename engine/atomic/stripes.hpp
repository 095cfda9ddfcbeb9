/// Atomicity of more than one CPU instruction: locks over address stripes of a process.
///
/// The locks stand in the process's control segment, so that an origin on the same host and the process's
/// own agent take the same ones. A stripe is chosen by the virtual address in the process, whatever path
/// leads there. Memory that an operation updates is locked exclusively, memory that it only reads is
/// shared. Whoever takes several stripes takes them in ascending order, and those of the process with the
/// lower identity first: nobody waits in a circle.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/operation.hpp"

namespace mpix::engine {

/// Bit i set: stripe i is needed.
using StripeSet = std::uint64_t;

inline constexpr unsigned stripe_count = 64;
inline constexpr unsigned stripe_shift = 14;  ///< 16 KiB: one lock for a small operation, few for a large one

/// Stripes of the addresses [begin, end).
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

/// What an operation needs of one process. A stripe in both sets is taken exclusively.
struct StripeSets {
  StripeSet exclusive = 0;
  StripeSet shared = 0;

  constexpr bool empty() const noexcept { return (exclusive | shared) == 0; }
  constexpr StripeSets operator|(StripeSets const& other) const noexcept {
    return {exclusive | other.exclusive, shared | other.shared};
  }
};

/// One lock, shared between processes. Zero-initialised memory is an open lock.
class alignas(64) StripeLock {
 public:
  bool try_lock() noexcept {
    std::uint32_t open = 0;
    return word_.compare_exchange_strong(open, held_, std::memory_order_acquire, std::memory_order_relaxed);
  }
  void lock() noexcept {
    if (!try_lock()) wait();
  }
  void unlock() noexcept { word_.store(0, std::memory_order_release); }

  bool try_lock_shared() noexcept {
    std::uint32_t holders = word_.load(std::memory_order_relaxed);
    // Those who wait for exclusive use go first, or a stream of readers would keep them out for ever.
    if (holders == held_ || writers_.load(std::memory_order_relaxed) != 0) return false;
    return word_.compare_exchange_strong(holders, holders + 1, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }
  void unlock_shared() noexcept { word_.fetch_sub(1, std::memory_order_release); }

  /// Between these two calls nobody new gets a share.
  void announce_writer() noexcept { writers_.fetch_add(1, std::memory_order_relaxed); }
  void withdraw_writer() noexcept { writers_.fetch_sub(1, std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t held_ = UINT32_MAX;

  void wait() noexcept;

  std::atomic<std::uint32_t> word_{0};  ///< 0 open, held_ exclusively, else the number of shared holders
  std::atomic<std::uint32_t> writers_{0};
};
static_assert(sizeof(StripeLock) == 64);

using StripeTable = std::array<StripeLock, stripe_count>;

/// Holds a set of stripes exclusively for a scope. Waits without driving progress: only for scopes whose
/// stripes nobody holds across messages to this process.
class StripeGuard {
 public:
  StripeGuard(StripeTable& table, StripeSet set) noexcept : table_(table), set_(set) {
    for (StripeSet rest = set_; rest != 0; rest &= rest - 1) lock_of(rest).lock();
  }
  ~StripeGuard() {
    for (StripeSet rest = set_; rest != 0; rest &= rest - 1) lock_of(rest).unlock();
  }
  StripeGuard(StripeGuard const&) = delete;
  StripeGuard& operator=(StripeGuard const&) = delete;

 private:
  StripeLock& lock_of(StripeSet rest) noexcept {
    return table_[static_cast<unsigned>(__builtin_ctzll(rest))];
  }

  StripeTable& table_;
  StripeSet set_;
};

/// Stripes of one process that are acquired step by step without blocking, and may be held for long.
class StripeHold {
 public:
  StripeHold() = default;
  StripeHold(StripeTable& table, StripeSets const& wanted) noexcept;
  ~StripeHold() { release(); }
  StripeHold(StripeHold&& other) noexcept { swap(other); }
  StripeHold& operator=(StripeHold&& other) noexcept {
    swap(other);
    return *this;
  }

  /// Takes what it can get of the rest, in order, and keeps it; true when it has everything.
  bool acquire() noexcept;
  /// Gives back what it has; acquire() starts anew.
  void release() noexcept;

 private:
  void swap(StripeHold& other) noexcept;
  void announce(StripeLock& lock, bool exclusive) noexcept;

  StripeTable* table_ = nullptr;
  StripeSet wanted_ = 0;
  StripeSet exclusive_ = 0;  ///< those of `wanted_` that are not shared
  StripeSet held_ = 0;
  StripeLock* announced_ = nullptr;  ///< where this object is announced as a writer
};

/// The stripes of an operation in two processes, in the order in which they have to be taken.
struct Holds {
  StripeHold first;
  StripeHold second;

  /// Takes what it can get of the rest; true when it has everything.
  bool acquire() noexcept { return first.acquire() && second.acquire(); }
};

}  // namespace mpix::engine
