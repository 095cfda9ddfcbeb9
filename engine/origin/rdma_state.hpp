/// What UCX put and get to one peer have under way, and the keys with which they are made.
/// Under the channel's lock.
#pragma once

#include <ucp/api/ucp.h>

#include <algorithm>
#include <cstdint>
#include <map>

#include "engine/op/exposure.hpp"
#include "engine/op/operation.hpp"
#include "engine/origin/recent_accesses.hpp"

namespace mpixrma::engine {

/// A peer's segment that is reached with UCX put and get.
struct RemoteKey {
  std::uint64_t number = 0;  ///< of the segment
  std::size_t length = 0;
  ucp_rkey_h key = nullptr;
  std::uint64_t newest_use = 0;  ///< number of the newest operation that was made with it
};

/// An exposure of a peer, until the peer takes it back.
struct RemoteExposure {
  Exposure exposure;
  bool usable = false;  ///< the segment that holds it has a key
  std::uint64_t newest_use = 0;
};

/// Ranges of a peer's addresses in which no segment stands that this path could use. The peer shows by a
/// version in its replies when its segments have changed, and everything is forgotten.
class Gaps {
 public:
  void add(RemoteAddress begin, RemoteAddress end) {
    constexpr std::size_t most = 1024;
    if (ranges_.size() >= most) ranges_.clear();
    auto& known = ranges_[begin];
    known = std::max(known, end);
  }
  bool contain(RemoteAddress address) const noexcept {
    auto const next = ranges_.upper_bound(address);
    return next != ranges_.begin() && address < std::prev(next)->second;
  }
  void see_version(std::uint32_t version) {
    if (version != version_) ranges_.clear();
    version_ = version;
  }

 private:
  std::map<RemoteAddress, RemoteAddress> ranges_;  ///< begin -> end
  std::uint32_t version_ = 0;
};

struct RdmaOperation;

/// Operations of UCX put and get to processes of this machine that have not ended. Through shared memory UCX
/// may end them only when it is polled. Of one channel, under its lock.
struct UnannouncedRdma {
  std::size_t count = 0;
};

/// Operations are numbered from 1 in the order of issue. A get has ended when UCX says so; a put has when
/// UCX has let go of its buffer and a flush that was begun after it has ended.
struct RdmaState {
  std::map<RemoteAddress, RemoteKey> keys;  ///< by base of the segment; of segments that do not overlap
  std::map<ExposureId, RemoteExposure> exposures;
  /// Keys and exposures by number; forgotten as soon as no operation uses them. An exposure has no key.
  std::map<std::uint64_t, RemoteKey> revoked;
  Gaps gaps;
  std::uint64_t issued = 0;                         ///< the newest operation
  std::uint64_t newest_put = 0;                     ///< the newest put
  std::uint64_t newest_ordered = 0;                 ///< the newest operation with the ordering guarantee
  RecentAccesses accesses;                          ///< of operations with Guarantee::overlap_ordered
  std::uint64_t flushed = 0;                        ///< puts up to here are in the target's memory
  std::uint64_t fence = 0;                          ///< a fence wants these to end before whatever is issued
  bool flushing = false;                            ///< a flush of the endpoint is under way
  std::map<std::uint64_t, RdmaOperation*> pending;  ///< operations that UCX has not completed
  std::map<std::uint64_t, RdmaOperation*> awaiting_flush;  ///< puts whose completion waits for a flush
  std::map<std::uint32_t, std::uint64_t> unflushed;  ///< by context: its newest put, until it is flushed

  /// Of a peer to which nothing was ever issued.
  static RdmaState const& none() noexcept;

  /// Nothing is under way, and nothing needs a flush.
  bool is_idle() const noexcept { return !flushing && revoked.empty() && reached(issued); }

  /// Whether puts up to `number` need a flush.
  bool needs_flush(std::uint64_t number) const noexcept { return flushed < std::min(number, newest_put); }

  /// Whether UCX has let go of the buffers of every operation up to `number`.
  bool released(std::uint64_t number) const noexcept {
    return pending.empty() || pending.begin()->first > number;
  }

  /// Whether every operation up to `number` has ended.
  bool reached(std::uint64_t number) const noexcept { return released(number) && !needs_flush(number); }
};

}  // namespace mpixrma::engine
