#include "engine/sync/held_locks.hpp"

#include <algorithm>

namespace mpixrma::engine {

void HeldLocks::Group::enrol() {
  if (enrolled_) return;
  place_ = all_.groups_.insert(all_.groups_.end(), this);
  enrolled_ = true;
}

void HeldLocks::Group::forget() noexcept {
  std::lock_guard const held(all_.mutex_);
  if (enrolled_) all_.groups_.erase(place_);
  enrolled_ = false;
}

void HeldLocks::Group::add(LockClock& clock, LockId lock, SharedLock const& word) {
  std::lock_guard const held(all_.mutex_);
  in_memory_.push_back({&clock, lock, &word});
  enrol();
}

std::uint64_t HeldLocks::Group::note_granted(LockMode mode, LockTime time) {
  std::lock_guard const held(all_.mutex_);
  enrol();
  if (mode == LockMode::exclusive) {
    ++exclusives_;
  } else {
    oldest_ = shares_.empty() ? time : std::min(oldest_, time);
    shares_.emplace_hint(shares_.end(), all_.grants_ + 1, time);
  }
  return ++all_.grants_;
}

void HeldLocks::Group::note_released(LockMode mode, std::uint64_t grant) noexcept {
  std::lock_guard const held(all_.mutex_);
  if (mode == LockMode::exclusive) {
    --exclusives_;
  } else {
    shares_.erase(grant);
  }
}

/// A process that waits for an exclusively held lock may hold any other lock, so each exclusively held lock
/// counts as time 0.
void HeldLocks::Group::include(std::uint64_t asked_after, bool* any, LockTime* time) const {
  *any = *any || !shares_.empty() || exclusives_ != 0;
  if (!shares_.empty() && shares_.begin()->first > asked_after) {
    *time = std::min(*time, oldest_);
  } else {
    for (auto share = shares_.upper_bound(asked_after); share != shares_.end(); ++share)
      *time = std::min(*time, share->second);
  }
  if (exclusives_ != 0) *time = 0;
  if (!may_hold_()) return;
  for (InMemory const& one : in_memory_) {
    auto const mode = one.word->mode_of(holder_);
    if (!mode) continue;
    *any = true;
    *time = *mode == LockMode::exclusive ? 0 : one.clock->bound(one.lock, *time);
  }
}

void HeldLocks::describe(LockTime now, std::uint64_t* asked_after, LockRequest* request) const {
  std::lock_guard const held(mutex_);
  request->overtakes = false;
  request->time = now;
  for (Group const* const group : groups_) group->include(*asked_after, &request->overtakes, &request->time);
  *asked_after = grants_;
}

}  // namespace mpixrma::engine
