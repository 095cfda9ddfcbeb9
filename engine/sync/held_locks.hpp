/// The locks that a process holds: a request for another one says which exclusive requests may be waiting for
/// these (docs/decisions/0010-queued-locks.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/sync/lock.hpp"
#include "engine/sync/lock_clock.hpp"
#include "engine/sync/shared_lock.hpp"

namespace mpixrma::engine {

/// Thread-safe. Used only where a lock was not free or is not in shared memory.
class HeldLocks {
 public:
  /// Some locks of the process, those of a window.
  class Group {
   public:
    /// `may_hold`: false while none of the locks in shared memory is held for the group.
    Group(HeldLocks& all, Holder holder, std::function<bool()> may_hold)
        : all_(all), holder_(holder), may_hold_(std::move(may_hold)) {}
    ~Group() { forget(); }
    Group(Group const&) = delete;
    Group& operator=(Group const&) = delete;

    /// A lock that the group takes and gives back in shared memory, of a process with this clock.
    void add(LockClock& clock, LockId lock, SharedLock const& word);
    /// A lock was granted by its agent, or will be before any other is asked for, to a request with this
    /// time. Returns the number of the grant, which is not 0.
    std::uint64_t note_granted(LockMode mode, LockTime time);
    /// The lock of this grant was given back.
    void note_released(LockMode mode, std::uint64_t grant) noexcept;
    /// The group goes away: before the memory of its locks.
    void forget() noexcept;

   private:
    friend class HeldLocks;
    struct InMemory {
      LockClock* clock;
      LockId lock;
      SharedLock const* word;
    };

    void enrol();
    void look(std::uint64_t asked_after, bool* any, LockTime* time) const;

    HeldLocks& all_;
    Holder const holder_;
    std::function<bool()> const may_hold_;
    std::vector<InMemory> in_memory_;
    std::map<std::uint64_t, LockTime> shares_;  ///< granted by agents: times of the requests, by grant
    LockTime oldest_ = 0;                       ///< of all shares since there was none
    std::size_t exclusives_ = 0;                ///< granted by agents
    bool enrolled_ = false;
    std::list<Group const*>::iterator place_;
  };

  /// Fills in `overtakes` and `time` of a request for a share. `now`: the time of the process's clock and, as
  /// far as it is at hand, of the target's. `*asked_after`: of the lock that is asked for, 0 before the first
  /// request: the times of granted shares count once for each lock, so that a process that keeps them does
  /// not pass the same requests for ever.
  void describe(LockTime now, std::uint64_t* asked_after, LockRequest* request) const;

 private:
  mutable std::mutex mutex_;  ///< for the groups, too
  std::uint64_t grants_ = 0;  ///< so far
  std::list<Group const*> groups_;
};

}  // namespace mpixrma::engine
