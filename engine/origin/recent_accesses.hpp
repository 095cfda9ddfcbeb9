/// The target memory of the newest operations to a peer, so that a later operation waits only for those that
/// it conflicts with.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/op/operation.hpp"

namespace mpixrma::engine {

/// Target memory of an operation, [begin, end): addresses, or offsets in an exposure. Memory of different
/// exposures counts as disjoint.
struct TargetAccess {
  ExposureId exposure = ExposureId::none;
  RemoteAddress begin = 0;
  RemoteAddress end = 0;
  bool writes = false;

  bool conflicts_with(TargetAccess const& other) const noexcept {
    return (writes || other.writes) && exposure == other.exposure && begin < other.end && other.begin < end;
  }
};

/// Operations are numbered in issue order, starting with 1. Not thread-safe.
class RecentAccesses {
 public:
  void note(TargetAccess const& access, std::uint64_t number) noexcept {
    Entry& oldest = entries_[next_];
    next_ = (next_ + 1) % capacity;
    newest_evicted_ = std::max(newest_evicted_, oldest.number);
    oldest = {access, number};
  }

  /// Returns the number of the newest operation that `access` may conflict with; an operation that is no
  /// longer recorded counts as a conflict. 0: none.
  std::uint64_t newest_conflict(TargetAccess const& access) const noexcept {
    std::uint64_t newest = newest_evicted_;
    for (Entry const& entry : entries_) {
      if (entry.number > newest && entry.access.conflicts_with(access)) newest = entry.number;
    }
    return newest;
  }

 private:
  static constexpr std::size_t capacity = 32;
  struct Entry {
    TargetAccess access;
    std::uint64_t number = 0;  ///< 0: unused
  };

  std::array<Entry, capacity> entries_{};
  std::size_t next_ = 0;
  std::uint64_t newest_evicted_ = 0;  ///< the newest operation that is no longer in `entries_`
};

/// The newest earlier operations that an operation must follow. 0: none.
struct Predecessors {
  std::uint64_t message = 0;   ///< position in the stream
  std::uint64_t transfer = 0;  ///< number of the transfer without a position (UnorderedTransfers)
};

}  // namespace mpixrma::engine
