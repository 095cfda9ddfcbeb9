#include "engine/atomic/stripes.hpp"

#include <utility>

#include "engine/atomic/backoff.hpp"

namespace mpix::engine {

void StripeLock::wait() noexcept {
  Backoff backoff;
  announce_writer();
  do {
    while (word_.load(std::memory_order_relaxed) != 0) backoff.pause();
  } while (!try_lock());
  withdraw_writer();
}

StripeHold::StripeHold(StripeTable& table, StripeSets const& wanted) noexcept
    : table_(&table), wanted_(wanted.exclusive | wanted.shared), exclusive_(wanted.exclusive) {}

void StripeHold::swap(StripeHold& other) noexcept {
  std::swap(table_, other.table_);
  std::swap(wanted_, other.wanted_);
  std::swap(exclusive_, other.exclusive_);
  std::swap(held_, other.held_);
  std::swap(announced_, other.announced_);
}

bool StripeHold::acquire() noexcept {
  for (StripeSet rest = wanted_ & ~held_; rest != 0; rest &= rest - 1) {
    StripeSet const bit = rest & -rest;
    StripeLock& lock = (*table_)[static_cast<unsigned>(__builtin_ctzll(rest))];
    bool const exclusive = (exclusive_ & bit) != 0;
    if (!(exclusive ? lock.try_lock() : lock.try_lock_shared())) {
      announce(lock, exclusive);
      return false;
    }
    held_ |= bit;
    if (announced_ == &lock) announce(lock, false);
  }
  return true;
}

/// Makes this object the announced writer of `lock`, or of none.
void StripeHold::announce(StripeLock& lock, bool exclusive) noexcept {
  StripeLock* const wanted = exclusive ? &lock : nullptr;
  if (announced_ == wanted) return;
  if (announced_ != nullptr) announced_->withdraw_writer();
  if (wanted != nullptr) wanted->announce_writer();
  announced_ = wanted;
}

void StripeHold::release() noexcept {
  for (; held_ != 0; held_ &= held_ - 1) {
    StripeLock& lock = (*table_)[static_cast<unsigned>(__builtin_ctzll(held_))];
    (exclusive_ & held_ & -held_) != 0 ? lock.unlock() : lock.unlock_shared();
  }
  if (announced_ != nullptr) announced_->withdraw_writer();
  announced_ = nullptr;
}

}  // namespace mpix::engine
