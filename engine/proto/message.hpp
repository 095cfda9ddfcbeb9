/// The origin's side of the message protocol: operations become messages, replies complete them. Under the
/// channel's lock throughout.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/base/log.hpp"
#include "engine/net/connections.hpp"
#include "engine/net/session.hpp"
#include "engine/net/transport.hpp"
#include "engine/origin/peer.hpp"
#include "engine/proto/lock_requests.hpp"
#include "engine/proto/origin_sessions.hpp"
#include "engine/proto/origin_streams.hpp"
#include "engine/proto/reply_handler.hpp"
#include "engine/proto/request_sender.hpp"
#include "engine/proto/revocations.hpp"
#include "engine/proto/tracked_operations.hpp"
#include "engine/sync/lock_table.hpp"

namespace mpixrma::engine {

/// The parts of the protocol, in order of dependence, and functions that involve several of them.
class MessageProtocol {
 public:
  struct Settings {
    std::size_t credit_bytes = 0;  ///< maximum of data in flight to a peer
    std::size_t batch_bytes = 0;   ///< largest batch; 0: no batches
    OriginStreams::Settings streams;
  };

  MessageProtocol(Transport& transport, Connections& connections, Credentials const& credentials,
                  Settings const& settings, LockTable& lock_table, Log const& log)
      : sender(transport, connections, settings.batch_bytes),
        sessions(transport, connections, credentials, sender),
        streams(sender, sessions, tracked, credentials, settings.streams),
        lock_requests(sender, sessions, streams, credentials),
        revocations(sessions, streams),
        reply_handler({connections, sessions, tracked, streams, revocations, lock_table},
                      settings.credit_bytes, log),
        connections_(connections),
        log_(log) {}

  RequestSender sender;
  OriginSessions sessions;
  TrackedOperations tracked;
  OriginStreams streams;
  LockRequests lock_requests;
  Revocations revocations;
  ReplyHandler reply_handler;

  /// Replies to revocations, resends messages whose reply was `busy`, and finishes operations
  /// whose origin buffers UCX has released. Called after each progress of the transport.
  void progress_due();
  /// Whether there is work that no event announces: operations wait for a busy target or for stripes of this
  /// process, or replies to revocations wait for users of the keys.
  bool has_waiting() const noexcept { return streams.has_retries() || revocations.are_waiting(); }

  /// Resumes the streams that have waited for UCX in this process, which has started.
  void ucx_started();
  /// Fails these streams, because UCX does not start.
  void ucx_failed();
  /// Resumes the streams that have waited for addresses, once these have arrived, and fails those whose query
  /// has failed.
  void take_addresses();
  bool waits_for_addresses() const noexcept { return sessions.queries().are_pending(); }

  void add_peer(Peer& peer);
  /// Removes a lost peer. Returns false if it is still referenced.
  bool remove_peer(Peer& peer);
  /// Fails all outstanding operations to a process that is unreachable. Returns the peer, if there is one.
  Peer* handle_loss(Connections::Loss const& loss);

  // For engine/target/connection_eviction.hpp; a process that is not a peer has nothing in flight.
  bool is_idle(std::uint64_t process) const noexcept;
  /// Starts the flush that UCX puts still need before the connection is idle. Not from UCX callbacks.
  void flush_ended_puts(std::uint64_t process);
  std::uint64_t last_use(std::uint64_t process) const noexcept;
  /// Stops sending to the process until resume().
  void suspend(std::uint64_t process) noexcept;
  /// Drops the endpoint to the process and the keys, before the connection is closed.
  void forget_connection(std::uint64_t process) noexcept;
  void resume(std::uint64_t process);

 private:
  Connections& connections_;
  Log const& log_;
};

}  // namespace mpixrma::engine
