/// The UCX put and get operations in flight to one peer, and their remote keys.
/// Under the channel's lock.
#pragma once

#include <ucp/api/ucp.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>

#include "engine/op/exposure.hpp"
#include "engine/op/operation.hpp"
#include "engine/origin/recent_accesses.hpp"

namespace mpixrma::engine {

/// A peer's segment that is accessed by UCX put and get.
struct RemoteKey {
  std::uint64_t number = 0;  ///< unique number of the segment
  std::size_t length = 0;
  ucp_rkey_h key = nullptr;
  std::uint64_t newest_use = 0;  ///< number of the newest operation that used it
};

/// An exposure of a peer, until the peer withdraws it.
struct RemoteExposure {
  Exposure exposure;
  bool usable = false;  ///< the segment that contains the exposure has a key
  std::uint64_t newest_use = 0;
};

/// A query to a peer for the key of the segment that contains an address or an exposure.
struct KeyQuery {
  RemoteAddress address = 0;
  ExposureId exposure = ExposureId::none;  ///< if set, the address is not used

  bool operator==(KeyQuery const&) const = default;
};

/// Ranges of a peer's addresses without a segment that this protocol can use. A version in the peer's replies
/// shows that its segments have changed; then all ranges are dropped.
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
  /// Returns whether the version has changed.
  bool see_version(std::uint32_t version) {
    if (version == version_) return false;
    ranges_.clear();
    version_ = version;
    return true;
  }

 private:
  std::map<RemoteAddress, RemoteAddress> ranges_;  ///< begin -> end
  std::uint32_t version_ = 0;
};

struct NetworkOperation;

/// Unfinished UCX put and get operations to processes of this host. Over shared memory UCX may complete
/// them only when polled. One counter per channel, under its lock.
struct UnannouncedTransfers {
  std::size_t count = 0;
};

/// Operations are numbered from 1 in issue order. A get has ended when UCX completes it; a put has ended when
/// UCX has released its buffer and a flush that was started later has ended.
struct NetworkState {
  std::map<RemoteAddress, RemoteKey> keys;  ///< by base of the segment; segments do not overlap
  std::map<ExposureId, RemoteExposure> exposures;
  /// Revoked keys and exposures by number, until no operation uses them. For an exposure, `key` is null.
  std::map<std::uint64_t, RemoteKey> revoked;
  Gaps gaps;
  std::uint64_t pending_query_id = 0;  ///< operation id of the unanswered query for a key; 0: none
  std::optional<KeyQuery> last_query;  ///< the newest query; not repeated until the version changes
  std::uint64_t issued = 0;            ///< the newest operation
  std::uint64_t newest_put = 0;        ///< the newest put
  std::uint64_t newest_ordered = 0;    ///< the newest operation with OpFlags::ordered
  RecentAccesses accesses;             ///< operations with OpFlags::overlap_ordered
  std::uint64_t flushed = 0;           ///< puts up to here are in the target's memory
  std::uint64_t fence = 0;             ///< operations up to here must end before any later one may start
  bool flushing = false;               ///< a flush of the endpoint is in progress
  std::uint64_t flush_covers = 0;      ///< puts up to here are covered by that flush
  std::map<std::uint64_t, NetworkOperation*> pending;         ///< operations that UCX has not completed
  std::map<std::uint64_t, NetworkOperation*> awaiting_flush;  ///< puts whose completion waits for a flush
  std::map<std::uint32_t, std::uint64_t> unflushed;           ///< by context: its newest unflushed put

  /// The state of a peer to which no operation was ever issued.
  static NetworkState const& none() noexcept;

  /// Handles the version in a reply of the peer. A new version means that there may be new keys.
  void see_version(std::uint32_t version) {
    if (!gaps.see_version(version)) return;
    std::erase_if(exposures, [](auto const& known) { return !known.second.usable; });
    last_query.reset();
  }

  /// Whether no operation or flush is in flight, no put needs a flush, and no revoked key is left.
  bool is_idle() const noexcept { return !flushing && revoked.empty() && has_completed(issued); }

  /// Whether puts up to `number` may need a flush.
  bool needs_flush(std::uint64_t number) const noexcept { return flushed < std::min(number, newest_put); }

  /// Whether UCX has released the buffers of every operation up to `number`.
  bool released(std::uint64_t number) const noexcept {
    return pending.empty() || pending.begin()->first > number;
  }

  /// Whether every operation up to `number` has ended.
  bool has_completed(std::uint64_t number) const noexcept { return released(number) && !needs_flush(number); }
};

}  // namespace mpixrma::engine
