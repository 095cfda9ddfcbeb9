/// Makes peers drop the keys of memory that no longer exists, and remembers the memory until they have done
/// so. All functions are called with all channels locked.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/memory/segment_table.hpp"
#include "engine/proto/registrations.hpp"
#include "engine/runtime/channels.hpp"

namespace mpixrma::engine {

class KeyRevocations {
 public:
  KeyRevocations(Channels& channels, Registrations& registrations) noexcept
      : channels_(channels), registrations_(registrations) {}

  /// Makes peers drop the keys of segments that no longer exist.
  void revoke(std::vector<OwnSegment> const& segments);
  /// Makes peers drop the segment or exposure with this number.
  void revoke(std::uint64_t number, RemoteAddress base);
  /// Whether all peers have dropped the segment or exposure with this number.
  bool is_dropped(std::uint64_t number);
  /// Whether no peer has a key any more for revoked memory in [begin, end), and none of it is registered with
  /// the network.
  bool are_dropped(RemoteAddress begin, RemoteAddress end);

 private:
  Channels& channels_;
  Registrations& registrations_;
  std::vector<OwnSegment>
      revoked_;  ///< segments whose keys some peer still has, or that are still registered
};

}  // namespace mpixrma::engine
