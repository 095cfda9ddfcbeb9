/// Whole-operation atomicity: locks over address stripes of one target process.
///
/// The locks stand in the target's control segment, so that an origin on the same host and the target's
/// own agent take the same ones. A stripe is chosen by the virtual address in the target, whatever path
/// leads there. An operation takes every stripe of its address range, in ascending order.
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

/// One lock, shared between processes. Zero-initialised memory is an open lock.
class alignas(64) StripeLock {
 public:
  void lock() noexcept {
    if (word_.exchange(1, std::memory_order_acquire) != 0) wait();
  }
  void unlock() noexcept { word_.store(0, std::memory_order_release); }

 private:
  void wait() noexcept;

  std::atomic<std::uint32_t> word_{0};
};
static_assert(sizeof(StripeLock) == 64);

using StripeTable = std::array<StripeLock, stripe_count>;

/// Holds a set of stripes for a scope.
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

}  // namespace mpix::engine
