/// UCX put and get with remote keys, for registered memory of other hosts: the origin's side. Updates never
/// go this way: the target's agent is the one place where they are executed. Under the channel's lock
/// throughout.
#pragma once

#include <ucp/api/ucp.h>

#include <cstdint>
#include <span>

#include "engine/memory/segment_table.hpp"
#include "engine/net/ucx_context.hpp"
#include "engine/net/wire.hpp"
#include "engine/op/operation.hpp"
#include "engine/origin/peer.hpp"
#include "engine/origin/rdma_state.hpp"

namespace mpixrma::engine {

/// Whether UCX finds a network device that writes to remote memory without the target's processor.
bool hardware_rdma_present();

class RdmaPath {
 public:
  /// Whether this path is worth it for the transfer, provided that the memory is registered.
  static bool suits(Transfer const& transfer) noexcept;

  /// The key for the transfer's target range, or nullptr when it is not known.
  static RemoteKey* find_key(Peer& peer, Transfer const& transfer) noexcept;
  /// Keeps what the peer's agent has answered: a segment with its key, if there is one, or a gap. In the
  /// order of arrival, with revoke().
  static void learn(Peer& peer, wire::SegmentReply const& answer, std::span<std::byte const> key);
  /// What is known of the exposure that the transfer names; nullptr: nothing.
  static RemoteExposure* find_exposure(Peer& peer, Transfer const& transfer) noexcept;
  /// The owner takes the segment, or the exposure, back that has this number and begins at `base`: it serves
  /// no operation any more. True once none uses it and its key is destroyed; to be called again until then.
  static bool revoke(Peer& peer, std::uint64_t number, RemoteAddress base);
  /// The peer is out of reach: whoever waits for its operations is told. UCX ends those on this machine
  /// never, and keeps the keys that they use.
  static void lose(Peer& peer);
  /// Destroys every key, whatever uses it. Before the peer's endpoint is closed.
  static void forget_all(Peer& peer) noexcept;

  static Issued issue(Peer& peer, Transfer const& transfer, RemoteKey& key);

  /// Whether every operation up to `number` has ended; starts a flush where that is what is missing.
  static bool reached(Peer& peer, std::uint64_t number);
};

}  // namespace mpixrma::engine
