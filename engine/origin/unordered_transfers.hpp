/// Operations in flight to one peer that have no position in the stream of messages: puts and gets by
/// protocols other than messages that leave operations in flight. Completion, order, the release of locks and
/// the loss of the peer deal with them here, whatever protocol executes them. Under the channel's lock.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>

#include "engine/op/late_error.hpp"
#include "engine/op/operation.hpp"
#include "engine/origin/recent_accesses.hpp"

namespace mpixrma::engine {

class Peer;

/// Transfers and flushes in flight to processes of this host. Over shared memory UCX may complete them only
/// when polled. One counter per channel, under its lock.
struct UnannouncedTransfers {
  std::size_t count = 0;
};

/// Puts of one context whose parts have ended and that no flush has covered, except those whose completion
/// waits for the flush.
struct UnflushedPuts {
  std::uint64_t first = 0;  ///< 0: none
  std::uint64_t newest = 0;
};

/// A transfer until its protocol has ended all its parts and, if required, a flush has ended.
struct UnorderedTransfer {
  Peer* peer;
  Completion* completion;
  std::uint32_t context;
  std::uint64_t number;
  std::size_t bytes;
  std::uint64_t parts;  ///< parts that have not ended, plus one until all are posted
  bool flushed;         ///< a flush has covered the transfer, or is not needed
  Status status;
  bool reported;         ///< its completion has been called
  bool may_be_given_up;  ///< at the loss of a peer of this host: its parts may never end
  bool given_up;         ///< the buffers are free although parts have not ended
  ReportedOperation kind;
  TargetMemory memory;
  /// A put enters there when its parts have ended. nullptr: it needs no flush, or its completion awaits one.
  UnflushedPuts* unflushed;
};

/// Transfers are numbered from 1 in issue order, by all protocols together. A get has ended when its parts
/// have ended; a put that needs a flush has ended when, moreover, a flush that was started later has ended.
struct UnorderedTransfers {
  std::uint64_t issued = 0;          ///< the newest transfer
  std::uint64_t newest_put = 0;      ///< the newest put that needs a flush
  std::uint64_t newest_ordered = 0;  ///< the newest transfer with OpFlags::ordered
  RecentAccesses accesses;           ///< transfers with OpFlags::overlap_ordered
  std::uint64_t flushed = 0;         ///< puts up to here are in the target's memory
  std::uint64_t fence = 0;           ///< transfers up to here must end before any later operation may start
  bool flushing = false;             ///< a flush is in progress
  bool flush_is_counted = false;     ///< by UnannouncedTransfers
  std::uint64_t flush_covers = 0;    ///< puts up to here are covered by that flush
  /// Starts a flush, whose end is reported by end_flush(). Set by the protocol of the puts.
  void (*start_flush)(Peer& peer) = nullptr;
  std::map<std::uint64_t, UnorderedTransfer*> pending;         ///< transfers with parts that have not ended
  std::map<std::uint64_t, UnorderedTransfer*> awaiting_flush;  ///< puts whose completion waits for a flush
  std::map<std::uint32_t, UnflushedPuts> unflushed;            ///< by context; entries stay

  /// The state of a peer to which no transfer was ever issued.
  static UnorderedTransfers const& none() noexcept {
    static UnorderedTransfers const empty;
    return empty;
  }

  /// Whether no transfer or flush is in flight, and no put needs a flush.
  bool are_idle() const noexcept { return !flushing && are_complete(issued); }

  /// Whether puts up to `number` may need a flush.
  bool need_flush(std::uint64_t number) const noexcept { return flushed < std::min(number, newest_put); }

  /// Whether the buffers of every transfer up to `number` are free.
  bool are_released(std::uint64_t number) const noexcept {
    return pending.empty() || pending.begin()->first > number;
  }

  /// Whether every transfer up to `number` has ended.
  bool are_complete(std::uint64_t number) const noexcept {
    return are_released(number) && !need_flush(number);
  }
};

}  // namespace mpixrma::engine
