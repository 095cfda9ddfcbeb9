/// Replies to lock requests, and lets a stream that waited for a lock continue. Under the channel's lock.
#pragma once

#include "engine/net/connections.hpp"
#include "engine/sync/lock_table.hpp"
#include "engine/target/executed_positions.hpp"
#include "engine/target/origin.hpp"
#include "engine/target/origin_table.hpp"
#include "engine/target/replies.hpp"
#include "engine/target/requested_locks.hpp"
#include "engine/target/target_streams.hpp"

namespace mpixrma::engine {

class LockReplies {
 public:
  /// The parts of the executor, and the connections, that this class uses.
  struct Parts {
    Connections& connections;
    OriginTable const& origins;
    Replies& replies;
    RequestedLocks& locks;
    ExecutedPositions& executed_positions;
    TargetStreams& streams;
  };

  explicit LockReplies(Parts const& parts) noexcept : parts_(parts) {}

  /// Whether there may be replies to send.
  bool are_due() const noexcept { return parts_.locks.has_news(); }
  void send_due();

 private:
  void send(Origin& origin, LockTable::Decision const& decision);
  void resume_stream(Origin& origin, LockTable::Decision const& decision);

  Parts parts_;
};

}  // namespace mpixrma::engine
