/// UCX put and get with remote keys, for registered memory of other hosts: the origin's side. Updates never
/// use this protocol, because only the target's CPU executes them. Under the channel's lock throughout.
#pragma once

#include <ucp/api/ucp.h>

#include <cstdint>
#include <optional>
#include <span>

#include "engine/memory/segment_table.hpp"
#include "engine/net/ucx_context.hpp"
#include "engine/net/wire.hpp"
#include "engine/op/operation.hpp"
#include "engine/origin/network_keys.hpp"
#include "engine/origin/peer.hpp"

namespace mpixrma::engine {

/// Whether UCX's configuration permits a transport that accesses remote memory without the target's CPU.
/// `interfaces`: as in mpix_engine_config.
bool hardware_rdma_present(char const* interfaces, Log const& log);

class NetworkProtocol {
 public:
  /// Whether the protocol is possible and worthwhile for the transfer if the memory is registered.
  static bool can_transfer(RmaOp const& transfer) noexcept;

  /// Returns the key for the transfer's target range, or nullptr if it is unknown.
  static RemoteKey* find_key(Peer& peer, RmaOp const& transfer) noexcept;
  /// Returns the query whose reply would let transfers like this one use the protocol; nothing if the
  /// reply is known, or another query awaits its reply.
  static std::optional<KeyQuery> needed_query(Peer& peer, RmaOp const& transfer) noexcept;
  /// Stores a reply of the peer's agent: a segment with its key, if there is one, or a gap. Must be called
  /// when the reply arrives, before revoke() for any later revocation.
  static void learn(Peer& peer, wire::SegmentReply const& reply, std::span<std::byte const> key);
  /// Returns the known exposure of the transfer, or nullptr.
  static RemoteExposure* find_exposure(Peer& peer, RmaOp const& transfer) noexcept;
  /// Handles the owner's revocation of the segment or exposure with this number at `base`, which no later
  /// operation uses. Returns true once no operation in flight uses it and its key is destroyed; must be
  /// called again until then.
  static bool revoke(Peer& peer, std::uint64_t number, RemoteAddress base);
  /// Revokes the keys of an unreachable peer after lose_transfers(). They are kept while UCX has not ended
  /// some of the transfers.
  static void lose_keys(Peer& peer);
  /// Destroys all keys, even if in use. Must be called before the peer's endpoint is closed.
  static void forget_keys(Peer& peer) noexcept;

  static Issued issue(Peer& peer, RmaOp const& operation, RemoteKey& key);
};

}  // namespace mpixrma::engine
