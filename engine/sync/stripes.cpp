#include "engine/sync/stripes.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/base/backoff.hpp"
#include "engine/base/coarse_clock.hpp"
#include "engine/base/liveness.hpp"
#include "engine/base/log.hpp"

namespace mpixrma::engine {

namespace {

/// The lock that a thread waits for, or has last waited for.
struct HolderCheck {
  StripeLock const* lock = nullptr;
  std::chrono::nanoseconds since{0};
  bool found_dead = false;  ///< the last check found a dead holder: the same process may hold the next lock
  pid_t reported = 0;       ///< dead holder that the log names already, because it may have held many stripes
};
// A single object, because a library loaded by dlopen() has only 64 bytes of thread-local memory
// (tests/c_abi/static_tls.py).
thread_local HolderCheck holder_check;

void report(pid_t holder) noexcept {
  if (std::exchange(holder_check.reported, holder) == holder) return;
  common_log.write(LogLevel::error,
                   "process %d ended while it held locks: it may have done half of an atomic operation",
                   static_cast<int>(holder));
}

// Holders release within microseconds unless they are not running.
constexpr std::chrono::milliseconds check_delay{10};

}  // namespace

void StripeLock::check_holders() noexcept {
  auto const time = coarse_now();
  if (time - holder_check.since < check_delay && !holder_check.found_dead) return;
  if (holder_check.lock == this || holder_check.found_dead) {
    // The lock is not recorded: a thread may wait for several, and the next one that it waits for is checked
    // next.
    holder_check = {nullptr, holder_check.since, drop_dead_holders(), holder_check.reported};
  } else {
    holder_check = {this, time, false, holder_check.reported};
  }
}

/// Releases the lock for processes that have ended. Returns whether there were any.
bool StripeLock::drop_dead_holders() noexcept {
  bool found = false;
  // Acquire and release: the next holder sees every access that the dead holder has seen.
  auto const drop = [&](std::atomic<std::uint32_t>& word, std::uint32_t rest) {
    std::uint32_t present = word.load(std::memory_order_relaxed);
    auto const holder = static_cast<pid_t>(present & ~shared);
    if (holder == 0 || holder == own_process || process_is_alive(holder)) return;
    found = true;
    if (word.compare_exchange_strong(present, rest, std::memory_order_acq_rel)) report(holder);
  };
  drop(writer_, shared);  // readers may still be present
  for (auto& entry : readers_) drop(entry, 0);
  return found;
}

void StripeGuard::lock() noexcept {
  pid_t const self = own_process;
  for (StripeSet rest = set_; rest != 0; rest &= rest - 1) {
    StripeLock& lock = table_[static_cast<unsigned>(__builtin_ctzll(rest))];
    Backoff backoff;
    auto const wait = [&] {
      lock.check_holders();
      backoff.pause();
    };
    auto state = StripeLock::Writer::refused;
    while ((state = lock.announce_writer(self)) == StripeLock::Writer::refused) wait();
    if (state == StripeLock::Writer::alone) continue;
    while (!lock.has_no_readers()) wait();
  }
}

UniqueStripeLock::UniqueStripeLock(StripeTable& table, StripeSets const& wanted) noexcept
    : table_(&table), wanted_(wanted.exclusive | wanted.shared), exclusive_(wanted.exclusive) {}

void UniqueStripeLock::swap(UniqueStripeLock& other) noexcept {
  std::swap(table_, other.table_);
  std::swap(wanted_, other.wanted_);
  std::swap(exclusive_, other.exclusive_);
  std::swap(held_, other.held_);
  std::swap(announced_, other.announced_);
}

bool UniqueStripeLock::acquire() noexcept {
  using Writer = StripeLock::Writer;
  for (StripeSet rest = wanted_ & ~held_; rest != 0; rest &= rest - 1) {
    StripeSet const bit = rest & -rest;
    StripeLock& lock = lock_of(rest);
    bool got = false;
    if ((exclusive_ & bit) == 0) {
      got = lock.try_lock_shared(own_process);
    } else {
      auto const state = announced_ != 0 ? Writer::announced : lock.announce_writer(own_process);
      got = state == Writer::alone || (state == Writer::announced && lock.has_no_readers());
      announced_ = !got && state == Writer::announced ? bit : 0;
    }
    if (!got) {
      lock.check_holders();
      return false;
    }
    held_ |= bit;
  }
  return true;
}

void UniqueStripeLock::release() noexcept {
  if (announced_ != 0) lock_of(announced_).withdraw_writer();
  announced_ = 0;
  for (; held_ != 0; held_ &= held_ - 1) {
    StripeLock& lock = lock_of(held_);
    (exclusive_ & held_ & -held_) != 0 ? lock.unlock() : lock.unlock_shared(own_process);
  }
}

void switch_to_elements(StripeTable& table, RemoteAddress begin, RemoteAddress end) noexcept {
  end = std::min(end, begin + stripe_period);  // includes all modes
  while (begin < end) {
    RemoteAddress const next = std::min(end, ((begin >> granule_shift) + 1) << granule_shift);
    if (!table.modes.is_by_element(begin)) {
      StripeGuard const guard(table, stripes_of(begin, next));
      table.modes.switch_to_elements(begin);
    }
    begin = next;
  }
}

}  // namespace mpixrma::engine
