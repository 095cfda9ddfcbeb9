/// The life of a transfer that has no position in the stream of messages
/// (engine/origin/unordered_transfers.hpp). A protocol begins a transfer, posts its parts, ends the
/// beginning, and reports the end of each part. All else, from completion to the loss of the peer, is the
/// same for every protocol. Under the channel's lock throughout.
#pragma once

#include <cstdint>

#include "engine/op/operation.hpp"
#include "engine/origin/peer.hpp"
#include "engine/origin/unordered_transfers.hpp"

namespace mpixrma::engine {

/// How a protocol ends its transfers.
struct TransferTraits {
  /// As in UnorderedTransfers; nullptr if a put is in the target's memory when its parts have ended. At most
  /// one protocol may need flushes.
  void (*start_flush)(Peer& peer) = nullptr;
  /// Whether parts to an ended process of this host end, too. Parts that do not are given up when the peer is
  /// lost: nothing may access their buffers any more.
  bool ends_after_loss = true;
};

/// Begins a transfer. Lack of memory throws before anything has changed.
UnorderedTransfer& begin_transfer(Peer& peer, RmaOp const& transfer, TransferTraits const& traits);

/// Enters a part that the protocol has posted, and that end_part() will end.
inline void add_part(UnorderedTransfer& transfer) noexcept { ++transfer.parts; }

/// Ends the issue of a transfer: all its parts are posted. `transfer` may be gone afterwards.
Issued end_issue(UnorderedTransfer& transfer);

/// Ends a part of a transfer. `transfer` may be gone afterwards.
void end_part(UnorderedTransfer& transfer, Status status);

/// Ends the flush that `UnorderedTransfers::start_flush` has started.
void end_flush(Peer& peer, Status status);

/// Whether every transfer up to `number` has ended or is lost. Starts a flush if puts up to `number` need
/// one.
bool ended_or_start_flush(Peer& peer, std::uint64_t number);

/// Whether the buffers of every transfer up to `number` are free.
bool are_released(Peer& peer, std::uint64_t number) noexcept;

/// Fails the transfers to an unreachable peer, and the puts that no flush has covered. A transfer with parts
/// that have not ended fails when they end, because its buffers are in use until then, or at once if they are
/// given up (TransferTraits::ends_after_loss).
void lose_transfers(Peer& peer);

}  // namespace mpixrma::engine
