/// The target's side of the message protocol: executes requests and replies to them. Under the channel's lock
/// throughout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/drops.hpp"
#include "engine/base/log.hpp"
#include "engine/base/text.hpp"
#include "engine/memory/segment_table.hpp"
#include "engine/net/connections.hpp"
#include "engine/net/session.hpp"
#include "engine/net/transport.hpp"
#include "engine/net/wire.hpp"
#include "engine/sync/lock_table.hpp"
#include "engine/target/buffer_budget.hpp"
#include "engine/target/executed_positions.hpp"
#include "engine/target/execution_trace.hpp"
#include "engine/target/handshakes.hpp"
#include "engine/target/lock_replies.hpp"
#include "engine/target/origin_table.hpp"
#include "engine/target/replies.hpp"
#include "engine/target/request_batches.hpp"
#include "engine/target/request_execution.hpp"
#include "engine/target/request_stripe_cache.hpp"
#include "engine/target/requested_locks.hpp"
#include "engine/target/requested_memory.hpp"
#include "engine/target/ring_requests.hpp"
#include "engine/target/segment_queries.hpp"
#include "engine/target/target_streams.hpp"
#include "engine/target/unsent_replies.hpp"

namespace mpixrma::engine {

/// The parts of the executor, in order of dependence, and functions that involve several of them.
class Executor {
 public:
  struct Settings {
    BufferBudget::Settings buffers;
    std::size_t batch_bytes = 0;        ///< largest message of several replies; 0: each is sent alone
    std::size_t replies_bytes = 0;      ///< as UnsentReplies::Settings::replies_bytes
    std::size_t session_processes = 0;  ///< maximum number of origins of a session; 0: no bound
  };

  /// The parts of the channel and of the process that the executor uses.
  struct Parts {
    Transport& transport;
    Connections& connections;
    SegmentTable const& segments;  ///< does not change while the channel is locked
    LockTable& locks;
    Credentials const& credentials;
  };

  Executor(Parts const& used, Settings const& settings, Log const& log);
  Executor(Executor const&) = delete;
  Executor& operator=(Executor const&) = delete;

  Drops drops;
  ExecutionTrace trace;
  OriginTable origins;
  BufferBudget buffers;
  Replies replies;
  UnsentReplies unsent;
  RequestedLocks locks;
  RequestedMemory memory;
  RequestStripeCache stripes;
  SegmentQueries queries;
  ExecutedPositions executed_positions;
  RequestExecution execution;
  TargetStreams streams;
  LockReplies lock_replies;
  RequestBatches batches;
  RingRequests ring;
  Handshakes handshakes;

  /// Handles a message of requests. If memory is short, gives up the connection to the origin of the message.
  void on_message(wire::MessageClass kind, std::span<std::byte const> header,
                  std::span<std::byte const> payload) noexcept;

  /// Executes requests that may be executed now and sends the replies, acknowledgements last. Called after
  /// each progress of the transport, outside of UCX's callbacks.
  void progress_due() {
    if (handshakes.have_arrived()) connect_arrived();
    if (unsent.has_waiting()) streams.retry_waiting();
    if (streams.has_blocked()) streams.retry_blocked();
    locks.admit_overtaking();
    while (lock_replies.are_due()) lock_replies.send_due();  // a continued stream may release other locks
    replies.send_all();
  }

  /// Removes a process that is gone: its requests are dropped and its locks released.
  void forget(std::uint64_t process);
  /// Removes all processes of a session, and returns them.
  std::vector<std::uint64_t> end_session(std::uint64_t session);

  // For engine/target/connection_eviction.hpp.
  bool is_idle(std::uint64_t process) const noexcept;
  /// Stops using the connection to the process, and forgets the keys that the process holds. A later
  /// connection needs a new handshake.
  void forget_connection(std::uint64_t process) noexcept;

  /// Describes the requests that cannot be executed yet.
  void describe_waiting(BoundedText& text) const;

 private:
  std::span<std::byte const> aligned(std::span<std::byte const> payload);
  void handle(std::span<std::byte const> header, std::span<std::byte const> payload);
  void connect_arrived();

  Connections& connections_;
  std::vector<std::uint64_t> aligned_;  ///< scratch buffer for misaligned payloads
};

}  // namespace mpixrma::engine
