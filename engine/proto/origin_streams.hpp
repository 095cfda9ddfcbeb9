/// The streams of this process's operations to its peers. Each operation takes the next positions of its
/// peer's stream, and is sent as messages as the credit permits. Under the channel's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "engine/net/session.hpp"
#include "engine/op/operation.hpp"
#include "engine/op/run_operation.hpp"
#include "engine/origin/fragment.hpp"
#include "engine/origin/network_keys.hpp"
#include "engine/origin/peer.hpp"
#include "engine/origin/tracked_operation.hpp"
#include "engine/proto/origin_sessions.hpp"
#include "engine/proto/request_sender.hpp"
#include "engine/proto/tracked_operations.hpp"

namespace mpixrma::engine {

class OriginStreams {
 public:
  struct Settings {
    std::size_t fragment_bytes = 0;
    std::size_t target_bytes = 0;   ///< memory for operations that wait to be sent to one peer
    std::size_t process_bytes = 0;  ///< the same for all peers together, with messages that UCX has not sent
  };

  OriginStreams(RequestSender& sender, OriginSessions& sessions, TrackedOperations& tracked,
                Credentials const& credentials, Settings const& settings) noexcept
      : sender_(sender),
        sessions_(sessions),
        tracked_(tracked),
        credentials_(credentials),
        settings_(settings) {}

  /// `stripe_lock`: stripes in this process of an atomic operation, held until the operation is executed.
  Issued issue(Peer& peer, RmaOp const& operation, UniqueStripeLock stripe_lock);
  /// Sends an operation for which the caller holds the stripes in both processes, ahead of everything that is
  /// not sent yet and regardless of the credit, because earlier messages may wait for these stripes. The
  /// operation has no predecessors and at most a fragment's data; its completion is called at its end.
  /// Returns nullopt while the stream is suspended, for example until deferred UCX has started.
  std::optional<Issued> issue_out_of_band(Peer& peer, RmaOp const& operation);

  /// As issue(), if the operation continues the last run of the batch that is being filled. Returns the
  /// operation's position; 0: the operation does not continue the run, and nothing is done.
  std::uint64_t continue_run(Peer& peer, RunOperation const& operation);

  /// Requests the segment at `address`. The returned object, to be passed to release(), receives the reply
  /// in `segment`: a gap if there is no segment; empty after a failure. Returns nullptr if the peer is
  /// unreachable.
  TrackedOperation* find_segment(Peer& peer, RemoteAddress address);
  void release(TrackedOperation& entry) noexcept { tracked_.release(entry); }
  /// Requests a key, behind all earlier messages; the segment handler receives the reply. There must be no
  /// query to the peer that awaits its reply. Does nothing if the query would have to wait for a lock.
  void query_key(Peer& peer, KeyQuery const& query);

  /// Queues one message without data, behind those that are not sent yet; advance() sends it.
  TrackedOperation& queue(Peer& peer, MessageOperation const& operation);
  /// Sends one message without data, or adds it to the batch, without checking the credit. Nothing may be
  /// queued before it.
  Status send_empty(Peer& peer, MessageOperation const& operation, std::uint64_t sequence) {
    return send_fragment(peer, operation, Fragment{}, sequence, nullptr);
  }
  /// Sends as many operations as the credit permits.
  void advance(Peer& peer);
  /// Finishes the operations that the newest reply has completed, and uses the additional credit.
  void progress(Peer& peer);
  /// progress() for the peers of note_due().
  void progress_due();
  void note_due(Peer& peer) noexcept;

  /// Records that the target was busy; retry() sends the operation again after a pause.
  void note_busy(TrackedOperation& entry);
  /// Retries operations that wait for a busy target, or for stripes of this process.
  void retry();
  /// Whether there are such operations; no event announces that they can be sent.
  bool has_retries() const noexcept { return !busy_retries_.empty() || !stalled_.empty(); }

  /// As OriginStream::is_executed(), for waiting callers: if the acknowledgement is delayed, queues and
  /// sends an empty put that requests it.
  bool executed_or_request_ack(Peer& peer, std::uint64_t sequence);
  /// Whether an issuing thread must wait until queued operations, to the peer or to all peers, are sent.
  bool is_full(Peer& peer) const noexcept;
  /// Whether the operation may need several messages, on the assumption that it has two operands.
  bool may_need_messages(Layout const& target) const noexcept {
    return target.size() > settings_.fragment_bytes / 2 || !target.runs.empty();
  }
  /// Returns the position of the newest message that was sent ahead of unsent ones; 0: none.
  std::uint64_t newest_out_of_band(Peer const& peer) const noexcept;
  /// Reserves memory for one of `peers` peers: UCX's callbacks, which must not throw, call note_due().
  void reserve(std::size_t peers) {
    if (due_.capacity() < peers) due_.reserve(2 * peers);
  }
  void remove_peer(Peer const& peer) noexcept;

 private:
  /// An operation whose target was busy.
  struct BusyRetry {
    std::uint64_t operation_id;
    unsigned pause;  ///< calls of retry() until the next attempt
  };

  Issued start_message(Peer& peer, MessageOperation& operation, OpFlags op_flags,
                       UniqueStripeLock stripe_lock);
  void send_out_of_band(TrackedOperation& entry);
  static std::uint64_t take_positions(Peer& peer, MessageOperation& operation, OpFlags op_flags,
                                      std::uint64_t messages);
  TrackedOperation& queue_query(Peer& peer, KeyQuery const& query);
  void note_stalled(Peer& peer);
  void send_lock(TrackedOperation& entry);
  void send_again(TrackedOperation& entry);
  bool may_be_untracked(Peer& peer, MessageOperation const& operation) const;
  /// The part from `offset` on, for a position that is taken: without memory, the connection is lost.
  std::optional<Fragment> fragment_or_fail(Peer& peer, MessageOperation const& operation, std::size_t offset);
  /// Sends at a position that is taken: without memory, the connection is lost, as if UCX had failed.
  Status send_fragment(Peer& peer, MessageOperation const& operation, Fragment const& fragment,
                       std::uint64_t sequence, TrackedOperation* entry);
  Status try_send_fragment(Peer& peer, MessageOperation const& operation, Fragment const& fragment,
                           std::uint64_t sequence, TrackedOperation* entry);
  static bool delay_batch(Peer& peer) noexcept;
  bool may_start(TrackedOperation const& entry) const noexcept;
  FragmentLimits limits_for(MessageOperation const& operation) const noexcept;

  RequestSender& sender_;
  OriginSessions& sessions_;
  TrackedOperations& tracked_;
  Credentials const& credentials_;
  Settings settings_;
  std::vector<Peer*> due_;  ///< with room for each peer of the channel
  std::vector<BusyRetry> busy_retries_;
  /// The newest message sent ahead of unsent ones, for the few peers with such messages.
  std::vector<std::pair<Peer const*, std::uint64_t>> out_of_band_;
  std::vector<Peer*> stalled_;  ///< the next operation waits for stripes of this process
};

}  // namespace mpixrma::engine
