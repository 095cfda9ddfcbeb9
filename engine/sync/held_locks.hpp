/// The locks that a process holds. They determine the time of its request for another lock: no exclusive
/// request that waits for a held lock is earlier (docs/decisions/0010-queued-locks.md).
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

/// Thread-safe. Not used to acquire a free lock in shared memory, or to release it.
class HeldLocks {
 public:
  /// The locks of one window.
  class Group {
   public:
    /// `may_hold` returns false while the group holds none of the locks in shared memory.
    Group(HeldLocks& all, Holder holder, std::function<bool()> may_hold)
        : all_(all), holder_(holder), may_hold_(std::move(may_hold)) {}
    ~Group() { forget(); }
    Group(Group const&) = delete;
    Group& operator=(Group const&) = delete;

    /// Adds a lock, of a process with this clock, that the group acquires and releases in shared memory.
    void add(LockClock& clock, LockId lock, SharedLock const& word);
    /// Records a lock that the target has granted to a request with this time, or a request that counts as
    /// granted from now on. Returns the nonzero number of the grant.
    std::uint64_t note_granted(LockMode mode, LockTime time);
    /// Records the release of the lock of this grant.
    void note_released(LockMode mode, std::uint64_t grant) noexcept;
    /// Removes the group, before the memory of its locks is freed.
    void forget() noexcept;

   private:
    friend class HeldLocks;
    struct InMemory {
      LockClock* clock;
      LockId lock;
      SharedLock const* word;
    };

    void enrol();
    void include(std::uint64_t asked_after, bool* any, LockTime* time) const;

    HeldLocks& all_;
    Holder const holder_;
    std::function<bool()> const may_hold_;
    std::vector<InMemory> in_memory_;
    std::map<std::uint64_t, LockTime> shares_;  ///< granted by agents: times of the requests, by grant
    LockTime oldest_ = 0;                       ///< earliest time of the shares since there were none
    std::size_t exclusives_ = 0;                ///< granted by agents
    bool enrolled_ = false;
    std::list<Group const*>::iterator place_;
  };

  /// Sets `overtakes` and `time` of a request for a shared lock. `now` is the later of the times of the
  /// process's clock and, if known, the target's. `*asked_after` belongs to the requested lock and is 0
  /// before the first request: the times of granted shares count once for each lock, so that a process that
  /// keeps its shares does not pass the same requests forever.
  void describe(LockTime now, std::uint64_t* asked_after, LockRequest* request) const;

 private:
  mutable std::mutex mutex_;  ///< protects the groups too
  std::uint64_t grants_ = 0;  ///< number of grants so far
  std::list<Group const*> groups_;
};

}  // namespace mpixrma::engine
