/// Idle-connection eviction: closes the least recently used connections of a process that has more than its
/// limit. Under the channel's lock.
///
/// Only idle connections are closed, by a disconnect exchange: the requesting side sends nothing before it
/// has the reply, and the accepting side does not use the connection any more. Both sides continue with
/// their stream positions and their credit on the next connection, which begins with a handshake and has the
/// next number. Messages of two connections may overtake each other: a disconnect message of an earlier
/// connection is ignored, and a handshake of the next connection implies that the peer has accepted to
/// disconnect. If UCX reports the connection as closed meanwhile, this counts as an acceptance: if the peer
/// has ended, the next connection to it detects that.
///
/// A disconnect request gets one reply: messages of one connection arrive in order, and of two requests
/// that cross each other one gets a reply, by a rule that both sides know.
#pragma once

#include <cstdint>
#include <span>

#include "engine/base/drops.hpp"
#include "engine/base/log.hpp"
#include "engine/net/connections.hpp"
#include "engine/net/transport.hpp"
#include "engine/proto/message.hpp"
#include "engine/target/executor.hpp"

namespace mpixrma::engine {

class ConnectionEviction {
 public:
  /// The parts of the channel that the eviction uses.
  struct Parts {
    Transport& transport;
    Connections& connections;
    MessageProtocol& message_protocol;
    Executor& executor;
  };

  /// `limit`: maximum number of connections of this process, `process`, beyond which idle ones are closed.
  ConnectionEviction(Parts const& used, std::uint64_t process, std::size_t limit, Log const& log)
      : transport_(used.transport),
        connections_(used.connections),
        message_protocol_(used.message_protocol),
        executor_(used.executor),
        process_(process),
        limit_(limit),
        log_(log) {}

  /// Called from UCX callbacks; only queues the message.
  void on_disconnect(std::span<std::byte const> header) noexcept;

  /// Called after each progress of the transport, before handshakes are processed.
  void progress() {
    if (connections_.has_disconnects()) handle_disconnects();
    if (is_over_limit()) evict_periodically();
  }

  /// Tells the other side of an encrypted connection that a message on it was rejected: UCX would report the
  /// end of the connection only after its next keepalive. Best effort, before the connection is closed.
  void report_rejected_message(std::uint64_t process);

  std::uint64_t dropped() const noexcept { return drops_.count(); }

  bool is_over_limit() const noexcept { return connections_.size() > limit_; }

  /// Sends disconnect requests for excess idle connections; returns their number.
  std::size_t request_idle_disconnects();

 private:
  void handle_disconnects();
  void handle_disconnect(Connections::DisconnectNotice const& disconnect,
                         Connections::Connection& connection);
  void evict_periodically();
  void request_disconnect(std::uint64_t process);
  bool is_idle(std::uint64_t process, Connections::Connection const& connection) const;
  void close_connection(std::uint64_t process);
  bool send(std::uint64_t process, Connections::Connection const& connection, wire::Disconnect kind);

  Transport& transport_;
  Connections& connections_;
  MessageProtocol& message_protocol_;
  Executor& executor_;
  std::uint64_t process_;
  std::size_t limit_;
  Log const& log_;
  unsigned turns_ = 0;  ///< progress passes until the next search for idle connections
  unsigned pause_ = 1;
  Drops drops_{"disconnect", log_};
};

}  // namespace mpixrma::engine
