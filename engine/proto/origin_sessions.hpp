/// The sessions in which this process is the origin: from the handshake on, by peer and by token. Under the
/// channel's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/base/status.hpp"
#include "engine/net/address_service.hpp"
#include "engine/net/connections.hpp"
#include "engine/net/session.hpp"
#include "engine/net/transport.hpp"
#include "engine/origin/peer.hpp"
#include "engine/proto/request_sender.hpp"

namespace mpixrma::engine {

class OriginSessions {
 public:
  OriginSessions(Transport& transport, Connections& connections, Credentials const& credentials,
                 RequestSender& sender) noexcept
      : transport_(transport),
        connections_(connections),
        credentials_(credentials),
        sender_(sender),
        queries_(credentials) {}

  /// Sets this process's address, which every handshake contains.
  void set_address(std::span<std::byte const> address) { address_ = address; }
  /// Sets the function that starts UCX in this process for the first connection. `start` must not wait:
  /// ucx_started() or ucx_failed() of MessageProtocol is called later.
  void set_start(std::function<void()> start) { start_ucx_ = std::move(start); }

  /// Adds a peer, so that its loss can be reported. Called when the peer is created.
  void add_peer(Peer& peer);
  void remove_peer(Peer& peer);
  std::size_t peers() const noexcept { return peers_.size(); }
  bool knows(std::uint64_t process) const { return peers_.contains(process); }
  /// Returns nullptr if the process is not a peer.
  Peer* peer_of(std::uint64_t process) const noexcept;

  /// Opens the connection, unless it is open. Returns false if that is not possible. Suspends the stream if
  /// UCX must start first in this process or in the peer.
  bool connect(Peer& peer);
  /// As connect(), with the reason.
  Status ensure_session(Peer& peer);

  /// The processes with streams that wait for UCX in this process.
  std::vector<std::uint64_t>& waiting() noexcept { return waiting_; }
  /// Queries for the addresses of processes with streams that wait for them.
  AddressQueries& queries() noexcept { return queries_; }
  AddressQueries const& queries() const noexcept { return queries_; }
  /// Uses the address that the peer has replied with. Returns false if it is no address of the peer.
  bool learn_address(Peer& peer, std::span<std::byte const> address);

  /// Returns the peer whose session has this token for replies, or nullptr.
  Peer* peer_with(std::uint64_t session) const noexcept;
  /// Returns the process whose session has this token for replies; nothing for an unauthenticated peer.
  std::optional<std::uint64_t> process_of(std::uint64_t session) const noexcept;
  /// Returns the token for requests of the session with the process; 0: none.
  std::uint64_t session_with(std::uint64_t process) const noexcept;

 private:
  bool send_handshake(Peer& peer);
  bool request_ucx_or_address(Peer& peer);

  Transport& transport_;
  Connections& connections_;
  Credentials const& credentials_;
  RequestSender& sender_;
  AddressQueries queries_;
  std::function<void()> start_ucx_;
  std::vector<std::uint64_t> waiting_;
  std::span<std::byte const> address_;
  std::uint64_t handshakes_ = 0;
  std::unordered_map<std::uint64_t, Peer*> peers_;     ///< by process
  std::unordered_map<std::uint64_t, Peer*> sessions_;  ///< by SessionTokens::reply
};

}  // namespace mpixrma::engine
