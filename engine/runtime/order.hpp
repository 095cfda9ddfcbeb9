/// Completion and order of operations on peers.
#pragma once

#include <cstdint>
#include <span>

#include "engine/base/visibility.h"
#include "engine/op/operation.hpp"
#include "engine/origin/peer.hpp"
#include "engine/runtime/peers.hpp"
#include "engine/runtime/waits.hpp"

namespace mpixrma::engine {

struct PeerSequence;

class MPIX_ENGINE_API EngineOrder {
 public:
  EngineOrder(EngineState& state, EngineWaits& waits, EnginePeers& peers) noexcept
      : state_(state), waits_(waits), peers_(peers) {}

  /// Returns the sequence of the newest message to `peer`, which covers everything issued so far.
  static std::uint64_t newest(Peer const& peer) noexcept;

  /// Waits until every message up to `sequence` is executed at the target and its data has arrived, and makes
  /// earlier direct stores visible. Errors: see EngineFailures::take.
  void complete(Peer& peer, std::uint64_t sequence);

  /// Waits until the origin and result buffers of every operation up to `sequence` may be reused: fetched
  /// data has arrived, put data has been sent. Waits for the execution only of atomic operations without a
  /// fetch. Queued operations are sent as the target processes earlier ones.
  void complete_local(Peer& peer, std::uint64_t sequence);

  /// Whether complete(peer, sequence) would return at once. Drives progress once.
  bool test(Peer& peer, std::uint64_t sequence);

  /// Makes every message up to `sequence`, and every store made so far, visible at the target before any
  /// operation issued later. Does not wait; a later store may have to.
  void fence(Peer& peer, std::uint64_t sequence) noexcept;
  /// The same for several peers, and for operations to every peer: those issued later become visible after
  /// what was issued `before` to all of these. An operation to another peer may have to wait.
  void fence(std::span<PeerSequence const> before) noexcept;

  /// Calls `completion`, during progress or before this call returns, once complete(peer, sequence) would
  /// return, with the status that EngineFailures::take(peer, context) would return then. `peer` must stay in
  /// use until then.
  void watch(Peer& peer, std::uint64_t sequence, std::uint32_t context, Completion& completion) noexcept;
  /// As above for complete_local(peer, sequence), without failures.
  void watch_local(Peer& peer, std::uint64_t sequence, Completion& completion) noexcept;

  // For operations that are issued.

  /// Whether every message up to `sequence` is executed; asks for the acknowledgement if it is delayed.
  bool finished(Peer& peer, std::uint64_t sequence);
  /// Waits for messages to the peer that later loads and stores must not overtake.
  void wait_for_deferred_access(Peer& peer);
  /// An ordered get may write to memory of this process that an earlier ordered put of this process to itself
  /// must write first.
  void wait_for_puts_to_self();
  /// Waits until another operation may be queued for the peer.
  void wait_for_room(Peer& peer);
  /// Waits for the messages before a multi-peer fence; not for those to `next`, behind which a message has
  /// its place.
  void wait_for_multi_peer_fence(Peer const* next);

 private:
  bool finished_locally(Peer& peer, std::uint64_t sequence, std::uint64_t network);
  bool is_complete(Peer& peer, std::uint64_t sequence);
  void end_multi_peer_fence();

  EngineState& state_;
  EngineWaits& waits_;
  EnginePeers& peers_;
};

}  // namespace mpixrma::engine
