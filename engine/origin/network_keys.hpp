/// The remote keys by which UCX puts and gets access the memory of one peer. Under the channel's lock.
#pragma once

#include <ucp/api/ucp.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>

#include "engine/op/exposure.hpp"
#include "engine/op/operation.hpp"

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

/// Operations that use a key are UnorderedTransfers, whose numbers stand in `newest_use`.
struct NetworkKeys {
  std::map<RemoteAddress, RemoteKey> keys;  ///< by base of the segment; segments do not overlap
  std::map<ExposureId, RemoteExposure> exposures;
  /// Revoked keys and exposures by number, until no operation uses them. For an exposure, `key` is null.
  std::map<std::uint64_t, RemoteKey> revoked;
  Gaps gaps;
  std::uint64_t pending_query_id = 0;  ///< operation id of the query for a key that awaits its reply; 0: none
  std::optional<KeyQuery> last_query;  ///< the newest query; not repeated until the version changes

  /// Handles the version in a reply of the peer. A new version means that there may be new keys.
  void see_version(std::uint32_t version) {
    if (!gaps.see_version(version)) return;
    std::erase_if(exposures, [](auto const& known) { return !known.second.usable; });
    last_query.reset();
  }
};

}  // namespace mpixrma::engine
