/// Locks of a peer, requested from it by messages of the stream. Under the channel's lock.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/net/session.hpp"
#include "engine/op/operation.hpp"
#include "engine/origin/peer.hpp"
#include "engine/proto/origin_sessions.hpp"
#include "engine/proto/origin_streams.hpp"
#include "engine/proto/request_sender.hpp"
#include "engine/sync/lock_table.hpp"

namespace mpixrma::engine {

class LockRequests {
 public:
  LockRequests(RequestSender& sender, OriginSessions& sessions, OriginStreams& streams,
               Credentials const& credentials) noexcept
      : sender_(sender), sessions_(sessions), streams_(streams), credentials_(credentials) {}

  /// Requests a lock from the peer's agent, after all earlier operations. The completion is called when the
  /// lock is granted or the request has failed.
  Issued acquire(Peer& peer, LockRequest const& request);
  /// Makes later messages wait at the peer for the lock. Returns nullopt if the request cannot be sent now.
  std::optional<Issued> acquire_in_stream(Peer& peer, LockRequest const& request, std::uint32_t context);
  /// Whether the operation must not be issued yet: the stream waits for a lock, and the operation is atomic
  /// or could not be sent at once. An operation queued here behind the lock would delay replies to the peer.
  bool must_not_follow_lock(Peer& peer, Layout const& target, OpFlags op_flags) const;
  /// Releases the lock, after all earlier operations; a failure is kept under `context`.
  Issued release(Peer& peer, LockId lock, std::uint32_t owner, wire::LockReleaseKind kind,
                 std::uint32_t context);

 private:
  MessageOperation lock_message(Peer const& peer, wire::RequestKind kind, LockId lock,
                                std::uint32_t owner) const noexcept;

  RequestSender& sender_;
  OriginSessions& sessions_;
  OriginStreams& streams_;
  Credentials const& credentials_;
};

}  // namespace mpixrma::engine
