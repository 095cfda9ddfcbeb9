/// The locks of this process as requests acquire and release them. Under the channel's lock.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "engine/net/wire.hpp"
#include "engine/sync/lock_table.hpp"
#include "engine/target/origin.hpp"

namespace mpixrma::engine {

class RequestedLocks {
 public:
  explicit RequestedLocks(LockTable& table) noexcept : table_(table) {}

  /// Sets the function that wakes the agent, for decisions that requests of another channel, or of this
  /// process itself, have caused.
  void set_wake(std::function<void()> wake) { decisions_.wake = std::move(wake); }

  /// take_decisions() returns the decision. For an in-stream lock, the decision's operation id is the context
  /// of its errors.
  void acquire(Origin const& origin, wire::RequestHeader const& header);
  Status release(Origin const& origin, wire::RequestHeader const& header);

  /// Whether there are decisions to be taken, or poll_holders() has something to do.
  bool has_news() const noexcept { return decisions_.has_news(); }
  std::vector<LockTable::Decision> take_decisions() { return table_.take_decisions(decisions_); }
  /// Detects ended lock holders and grants their locks to waiting requests.
  void poll_holders() { table_.poll_holders(decisions_); }
  /// Lets requests pass whose overtake delay has ended.
  void admit_overtaking() {
    if (table_.is_overtake_due()) table_.admit_overtaking(decisions_);
  }

  /// Whether the process holds a lock that the agent has granted, or waits for one. Such a process is not
  /// idle: its connection must stay open.
  bool concern(std::uint64_t process) const noexcept { return table_.concerns(process); }
  /// Removes the grants and requests of a process that is gone.
  void forget(std::uint64_t process) { table_.forget(process, decisions_); }

 private:
  LockTable& table_;
  LockTable::Decisions decisions_;
};

}  // namespace mpixrma::engine
