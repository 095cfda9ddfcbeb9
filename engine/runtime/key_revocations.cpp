#include "engine/runtime/key_revocations.hpp"

namespace mpixrma::engine {

/// Makes peers drop the segment or exposure with this number. With all channels locked.
void KeyRevocations::revoke(std::uint64_t number, RemoteAddress base) {
  channels_.for_each([&](Channel& channel) { channel.executor.queries.revoke(number, base); });
}

/// With all channels locked.
bool KeyRevocations::is_dropped(std::uint64_t number) {
  bool dropped = true;
  channels_.for_each(
      [&](Channel& channel) { dropped = dropped && channel.executor.queries.revoked(number); });
  return dropped;
}

/// Makes peers drop the keys of segments that no longer exist. With all channels locked.
void KeyRevocations::revoke(std::vector<OwnSegment> const& segments) {
  for (OwnSegment const& segment : segments) {
    if (!registrations_.has(segment)) continue;
    revoke(segment.generation, segment.base);
    revoked_.push_back(segment);
  }
}

/// Whether no peer has a key any more for revoked memory in [begin, end), and none of it is registered with
/// the network. With all channels locked.
bool KeyRevocations::are_dropped(RemoteAddress begin, RemoteAddress end) {
  bool all = true;
  std::erase_if(revoked_, [&](OwnSegment const& segment) {
    bool const dropped = is_dropped(segment.generation) && registrations_.remove(segment);
    if (!dropped && segment.base < end && begin < segment.base + segment.length) all = false;
    return dropped;
  });
  return all;
}

}  // namespace mpixrma::engine
