/// Revocations of segments and exposures by their owners. Each is acknowledged once this process no longer
/// uses the key of the segment, or the exposure. Under the channel's lock.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "engine/origin/peer.hpp"
#include "engine/proto/origin_sessions.hpp"
#include "engine/proto/origin_streams.hpp"

namespace mpixrma::engine {

class Revocations {
 public:
  /// Called when the owner of a segment revokes it, and again until the handler returns true.
  using Handler = std::function<bool(Peer&, std::uint64_t number, RemoteAddress base)>;

  Revocations(OriginSessions& sessions, OriginStreams& streams) noexcept
      : sessions_(sessions), streams_(streams) {}

  void set_handler(Handler revoke) { revoke_ = std::move(revoke); }
  void note(Peer& peer, std::uint64_t number, RemoteAddress base) {
    revocations_.push_back({&peer, number, base});
  }
  /// Replies to the owners of revoked segments whose keys are no longer in use.
  void acknowledge();
  /// Whether acknowledgements wait for users of the keys; no event announces that the keys are out of use.
  bool are_waiting() const noexcept { return !revocations_.empty(); }
  bool concern(Peer const& peer) const noexcept;
  void forget(Peer const& peer) noexcept;

 private:
  struct Revocation {
    Peer* peer;
    std::uint64_t number;
    RemoteAddress base;
  };

  void acknowledge(Peer& peer, std::uint64_t number);

  OriginSessions& sessions_;
  OriginStreams& streams_;
  Handler revoke_;
  std::vector<Revocation> revocations_;
};

}  // namespace mpixrma::engine
