/// The connections of a channel: one per process that it exchanges messages with, regardless of which side
/// connected. Under the channel's lock.
#pragma once

#include <ucp/api/ucp.h>

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/base/log.hpp"
#include "engine/base/process_watch.hpp"
#include "engine/base/take_each.hpp"
#include "engine/net/address.hpp"
#include "engine/net/transport.hpp"

namespace mpixrma::engine {

class Connections {
 public:
  /// A lost connection, to be processed by both sides of the message protocol and then closed.
  struct Loss {
    std::uint64_t process;
    char const* reason;             ///< of static storage duration
    bool message_rejected = false;  ///< by this process, which reports it to the other one
    bool messages_only = false;     ///< memory that the processes share stays accessible
    bool awaits_replies = false;    ///< the process is an origin, which this process cannot reply to
  };

  Connections(Transport& transport, ProcessWatch& watch, HostIdentity const& host, std::uint64_t process,
              Log const& log)
      : transport_(transport), watch_(watch), host_(host), process_(process), log_(log) {}

  /// Returns the location of the process with this address, as seen from here.
  Location locate(ProcessAddress address) const;

  /// Returns the endpoint to the process at this location, created at its first use. nullptr if the process
  /// is unreachable, or if an earlier connection to it was lost and is not closed yet.
  ucp_ep_h open(std::uint64_t process, Location const& location);

  /// Marks the connection of `endpoint` as lost. If a disconnect was requested, treats the request as
  /// accepted instead, unless memory is short. May be called from any place, including UCX callbacks.
  void fail(ucp_ep_h endpoint, char const* reason);
  /// Marks the connection to a process as lost, for example because the process has ended.
  void fail(std::uint64_t process, char const* reason);

  /// Marks the connection to a process as lost because no message can be sent to it, although it may be
  /// alive.
  void mark_unreachable_by_messages(std::uint64_t process, char const* reason);

  /// As mark_unreachable_by_messages(), for an origin whose handshake has arrived, but to which no connection
  /// for replies opens.
  void fail_replies(std::uint64_t process, char const* reason);

  /// Marks the connection to a process as lost because a message on it was not authentic.
  void reject(std::uint64_t process, char const* reason);

  bool has_losses() const noexcept { return !losses_.empty(); }
  /// Removes and returns the newest loss.
  Loss take_loss();
  /// Undoes take_loss(). Needs no memory for the newest loss taken, whose place is free.
  void return_loss(Loss const& loss) { losses_.push_back(loss); }

  /// Closes the connection to `process` with everything in flight. Not from UCX callbacks.
  void close(std::uint64_t process);

  /// Number of connections with an endpoint, without those for which a disconnect was requested.
  std::size_t size() const noexcept { return by_endpoint_.size() - disconnecting_; }
  /// Returns the number of a new use: a message that is sent, or a UCX put or get. The numbers increase, so
  /// they tell the least recently used connection.
  std::uint64_t note_use() noexcept { return ++uses_; }

  // Idle-connection eviction: see engine/target/connection_eviction.hpp.

  struct Connection {
    ucp_ep_h endpoint = nullptr;
    bool lost = false;
    bool disconnecting = false;  ///< a disconnect request was sent, and awaits its reply
  };
  bool knows(std::uint64_t process) const { return by_process_.contains(process); }
  /// Returns the connection to `process` if it is usable, else nullptr.
  Connection* find(std::uint64_t process) noexcept;
  /// Returns the connection to `process` if it has an endpoint, though it may be lost.
  Connection const* find_open(std::uint64_t process) const noexcept;
  /// Calls `visit(process, connection)` for all usable connections.
  template <typename Visitor>
  void for_each(Visitor visit) const {
    for (auto const& [endpoint, process] : by_endpoint_) {
      if (Connection const& connection = by_process_.at(process); !connection.lost)
        visit(process, connection);
    }
  }
  /// Number of the present or next connection with the process, from 1. Both sides increment the number when
  /// they have agreed to close a connection. Messages of connections with different numbers may overtake each
  /// other.
  std::uint64_t number_of(std::uint64_t process) const noexcept;
  /// Records that a disconnect request was sent.
  void note_disconnect_requested(Connection& connection) noexcept;
  /// Records that the other side has replied to the request, or that the other side's request has precedence.
  void note_disconnect_ended(Connection& connection) noexcept;
  /// Closes a connection that both sides have agreed to close. Messages sent before are still delivered.
  void flush_and_close(std::uint64_t process);
  /// A disconnect message.
  struct DisconnectNotice {
    std::uint64_t process;
    wire::Disconnect kind;
    std::uint64_t connection;  ///< its number
    bool idle;  ///< this process had nothing in flight to the other one when the message arrived
  };
  /// Queues a disconnect message that has arrived. May be called from UCX callbacks.
  void queue_disconnect(DisconnectNotice const& disconnect) { disconnects_.push_back(disconnect); }
  bool has_disconnects() const noexcept { return !disconnects_.empty(); }
  /// See take_each().
  template <typename Handle>
  void take_disconnects(Handle handle) {
    take_each(disconnects_, handle);
  }

 private:
  Connection& connection_with(std::uint64_t process);
  void note_failed_connection(std::uint64_t process, Location const& location, Status status);
  void note_loss(Loss const& loss);

  Transport& transport_;
  ProcessWatch& watch_;
  HostIdentity const& host_;
  std::uint64_t process_;
  Log const& log_;
  std::unordered_map<std::uint64_t, Connection> by_process_;
  std::unordered_map<ucp_ep_h, std::uint64_t> by_endpoint_;
  std::vector<Loss> losses_;  ///< with room for one of each connection
  std::vector<DisconnectNotice> disconnects_;
  std::unordered_map<std::uint64_t, std::uint64_t> closed_;  ///< number of agreed closes, by process
  std::size_t disconnecting_ = 0;                            ///< number of disconnecting connections
  std::uint64_t uses_ = 0;
};

}  // namespace mpixrma::engine
