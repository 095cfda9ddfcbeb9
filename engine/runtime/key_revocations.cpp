#include "engine/runtime/key_revocations.hpp"

namespace mpixrma::engine {

/// Makes peers drop the segment or exposure with this number. With all channels locked.
void KeyRevocations::revoke(std::uint64_t number, RemoteAddress base) {
  channels_.for_each([&](Channel& channel) { channel.executor.queries.revoke(number, base); });
}

/// With all channels locked.
bool KeyRevocations::is_forgotten(std::uint64_t number) {
  bool forgotten = true;
  channels_.for_each(
      [&](Channel& channel) { forgotten = forgotten && channel.executor.queries.revoked(number); });
  return forgotten;
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
bool KeyRevocations::are_forgotten(RemoteAddress begin, RemoteAddress end) {
  bool all = true;
  std::erase_if(revoked_, [&](OwnSegment const& segment) {
    bool const forgotten = is_forgotten(segment.generation) && registrations_.remove(segment);
    if (!forgotten && segment.base < end && begin < segment.base + segment.length) all = false;
    return forgotten;
  });
  return all;
}

}  // namespace mpixrma::engine
