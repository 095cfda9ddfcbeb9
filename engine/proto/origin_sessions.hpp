/// The sessions in which this process is the origin: from the handshake on, by peer and by token. Under the
/// channel's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>

#include "engine/base/status.hpp"
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
      : transport_(transport), connections_(connections), credentials_(credentials), sender_(sender) {}

  /// Sets this process's address, which every handshake contains.
  void set_address(std::span<std::byte const> address) { address_ = address; }

  /// Adds a peer, so that its loss can be reported. Called when the peer is created.
  void add_peer(Peer& peer);
  void remove_peer(Peer& peer);
  bool knows(std::uint64_t process) const { return peers_.contains(process); }
  /// Returns nullptr if the process is not a peer.
  Peer* peer_of(std::uint64_t process) const noexcept;

  /// Opens the connection, unless it is open. Returns false if that is not possible.
  bool connect(Peer& peer);
  /// As connect(), with the reason.
  Status reach(Peer& peer);

  /// Returns the peer whose session has this token for replies, or nullptr.
  Peer* peer_with(std::uint64_t session) const noexcept;
  /// Returns the process whose session has this token for replies; nothing for an unauthenticated peer.
  std::optional<std::uint64_t> process_of(std::uint64_t session) const noexcept;
  /// Returns the token for requests of the session with the process; 0: none.
  std::uint64_t session_with(std::uint64_t process) const noexcept;

 private:
  bool introduce(Peer& peer);

  Transport& transport_;
  Connections& connections_;
  Credentials const& credentials_;
  RequestSender& sender_;
  std::span<std::byte const> address_;
  std::uint64_t introductions_ = 0;
  std::unordered_map<std::uint64_t, Peer*> peers_;     ///< by process
  std::unordered_map<std::uint64_t, Peer*> sessions_;  ///< by SessionTokens::reply
};

}  // namespace mpixrma::engine
