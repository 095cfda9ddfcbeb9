/// Completion and order of operations on peers.
#pragma once

#include <cstdint>
#include <span>

#include "engine/base/visibility.h"
#include "engine/op/late_error.hpp"
#include "engine/op/operation.hpp"
#include "engine/origin/peer.hpp"
#include "engine/runtime/peers.hpp"
#include "engine/runtime/waits.hpp"

namespace mpixrma::engine {

struct PeerSequence;

/// Whether a call sends the batch that is being filled, or keeps it because an operation that sends it
/// follows.
enum class OpenBatch : std::uint8_t { sent, kept };

/// `sequence` is a position in the stream to a peer; 0: all operations were complete when their calls
/// returned. A position above newest() stands for newest().
class MPIX_ENGINE_API EngineOrder {
 public:
  EngineOrder(EngineState& state, EngineWaits& waits, EnginePeers& peers) noexcept
      : state_(state), waits_(waits), peers_(peers) {}

  /// Returns the sequence of the newest message to `peer`, which covers everything issued so far.
  static std::uint64_t newest(Peer const& peer) noexcept;

  /// Waits until every message up to `sequence` is executed at the target and its data has arrived, and,
  /// unless `sequence` is 0, until all UCX puts and gets have ended. Makes earlier direct stores visible.
  /// Errors: see EngineFailures::take.
  void complete(Peer& peer, std::uint64_t sequence);

  /// Waits until the origin and result buffers of every operation up to `sequence` may be reused: fetched
  /// data has arrived, put data has been sent. Waits for the execution only of atomic operations without a
  /// fetch. Queued operations are sent as the target processes earlier ones.
  void complete_local(Peer& peer, std::uint64_t sequence);

  /// Whether complete(peer, sequence) would return at once. Drives progress once.
  bool test(Peer& peer, std::uint64_t sequence);

  /// Makes every message up to `sequence`, and every store made so far, visible at the target before any
  /// operation issued later. Does not wait; a later store may have to.
  void fence(Peer& peer, std::uint64_t sequence, OpenBatch batch = OpenBatch::sent) noexcept;
  /// The same across peers: operations issued later, to any peer, become visible after the `earlier` ones to
  /// all of their peers. A later operation to a peer may have to wait for messages to the others.
  void fence(std::span<PeerSequence const> earlier) noexcept;

  /// Calls `completion`, during progress or before this call returns, once complete(peer, sequence) would
  /// return. The completion receives the status that EngineFailures::take(peer, context) would return then,
  /// but without the failures stored by EngineFailures::keep(); `*error` is set as by take() before that.
  /// Status::out_of_memory: the wait could not be recorded. `peer` must stay in use until the completion.
  void watch(Peer& peer, std::uint64_t sequence, std::uint32_t context, Completion& completion,
             LateError* error = nullptr) noexcept;
  /// As watch() for complete_local(peer, sequence), without failures.
  void watch_local(Peer& peer, std::uint64_t sequence, Completion& completion) noexcept;

  // For operations that are issued.

  /// Whether every message up to `sequence` is executed. If not, and the acknowledgement is delayed, queues
  /// and sends an empty put that requests it. Acquires the channel's lock.
  bool executed_or_request_ack(Peer& peer, std::uint64_t sequence);
  /// Waits for messages, to this peer or, after a multi-peer fence, to others, that loads and stores on the
  /// peer must not overtake.
  void wait_for_deferred_access(Peer& peer);
  /// Waits for ordered puts of this process to itself, which may write the buffer of an ordered get.
  void wait_for_puts_to_self();
  /// Waits until another operation may be queued for the peer.
  void wait_for_room(Peer& peer);
  /// Waits for the messages before a multi-peer fence, except those to `next`: a message to `next` follows
  /// them without a wait.
  void wait_for_multi_peer_fence(Peer const* next);

 private:
  bool is_complete_locally(Peer& peer, std::uint64_t sequence, std::uint64_t transfer);
  bool complete_or_start_flush(Peer& peer, std::uint64_t sequence);
  void end_multi_peer_fence();

  EngineState& state_;
  EngineWaits& waits_;
  EnginePeers& peers_;
};

}  // namespace mpixrma::engine
