/// The state of a peer outside of the inline hot path.
#pragma once

#include <ucp/api/ucp.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "engine/net/address.hpp"
#include "engine/net/batch.hpp"
#include "engine/net/session.hpp"
#include "engine/op/late_error.hpp"
#include "engine/op/statistics.hpp"
#include "engine/origin/network_keys.hpp"
#include "engine/origin/recent_accesses.hpp"
#include "engine/origin/remote_segments.hpp"
#include "engine/origin/stream_parts.hpp"
#include "engine/origin/tracked_operation.hpp"
#include "engine/origin/unordered_transfers.hpp"

namespace mpixrma::engine {

class Channel;
class Message;

/// The batch: small requests that wait to be sent in one message, until the messages in flight are
/// acknowledged or, in a deferred batch, for the rest of their series. A timed batch is sent after a while.
struct RequestBatch {
  Message* message = nullptr;  ///< nullptr: empty
  wire::BatchWriter<wire::RequestHeader> records;
  std::uint64_t first_sequence = 0;
  std::uint64_t last_sequence = 0;
  bool deferred = false;          ///< no acknowledgement is due that will send it
  bool timed = false;             ///< deferred, or some of its operations hold stripes of this process
  bool ends_delayed_ack = false;  ///< the acknowledgement of the last request is delayed
  SeriesPrediction series;        ///< of batches to this peer
};

/// The stream to a peer, at the origin: the state of the messages. Under the channel's lock, except for the
/// atomic members.
struct OriginStream {
  ucp_ep_h endpoint = nullptr;  ///< created for the first message
  std::uint64_t session = 0;    ///< SessionTokens::request, set with the endpoint
  std::uint64_t last_use = 0;   ///< value of Connections::note_use() at the last send
  /// Every message up to here is executed at the peer.
  std::atomic<std::uint64_t> executed{0};
  /// Messages of all later operations wait until this position is executed: the newest one before a Fence, or
  /// a lock that was requested in the stream.
  std::uint64_t followed_by_all = 0;
  /// Newest message with OpFlags::ordered or overlap_ordered.
  std::uint64_t ordered = 0;
  /// Messages with OpFlags::overlap_ordered, if other protocols reach the peer as well; else null.
  std::unique_ptr<RecentAccesses> accesses;
  /// Operations that are not sent, or wait for replies or acknowledgements, in issue order.
  TrackedOperationList unfinished;
  /// The first operation of `unfinished` that is not sent completely; none behind it is, either.
  TrackedOperation* unsent = nullptr;
  Credit credit;
  std::uint64_t newest_sent = 0;                          ///< position of the newest message sent
  [[no_unique_address]] DelayedAcknowledgements delayed;  ///< the flags below fill its padding
  bool newest_has_delayed_ack : 1 = false;                ///< the acknowledgement of `newest_sent` is delayed
  bool is_due : 1 = false;                                ///< OriginStreams::note_due() was called
  bool broken = false;                                    ///< the connection was lost; nothing more is sent
  /// Nothing is sent: a disconnect request awaits its reply, or UCX has yet to start in one of the processes.
  bool suspended = false;
  /// The stream may wait for a lock until `followed_by_all` is executed: may_wait_for_lock() tells. Any
  /// thread.
  std::atomic<bool> stream_lock_hint{false};
  /// The batch being filled, created on demand. Its requests are charged to the credit but not sent. If it is
  /// not empty, an acknowledgement is due, whose arrival sends it. Exceptions: the next Channel::poll() or a
  /// thread that waits sends a batch that begins with a lock request; a thread, or else the agent, sends a
  /// timed batch.
  std::unique_ptr<RequestBatch> batch;
  /// Bytes of this process's memory held by operations that are not sent completely.
  std::size_t queued_bytes = 0;
  UntrackedOperations untracked;
  /// Failures of operations without a completion object.
  LateErrors errors;

  bool may_wait_for_lock() const noexcept {
    return stream_lock_hint.load(std::memory_order_relaxed) &&
           followed_by_all > executed.load(std::memory_order_relaxed);
  }
  bool has_open_batch() const noexcept { return batch != nullptr && batch->message != nullptr; }
  /// Whether everything up to `sequence` is executed, and all replies have arrived.
  bool is_executed(std::uint64_t sequence) const noexcept;
  /// Whether no operation up to `sequence` uses origin or result buffers any more.
  bool is_complete_locally(std::uint64_t sequence) const noexcept;
  /// Whether one more message may be sent: the stream is not suspended, and the credit and the number of
  /// messages in flight permit it. Further operations are queued here instead of in UCX.
  bool may_send() const noexcept;
  /// Whether an acknowledgement is certain to arrive.
  bool expects_acknowledgement() const noexcept {
    return !newest_has_delayed_ack && executed.load(std::memory_order_relaxed) < newest_sent;
  }
};

/// Parts that only some peers need are allocated on demand, because a job may have many processes.
struct PeerState {
  // Under PeerTable::lock.
  std::uint32_t users = 0;  ///< calls of EnginePeers::find and at() without a matching release()
  bool unused = false;      ///< in the list of the unused ones
  // Placed beside `unused`, where they fill padding.
  bool shares_memory = false;  ///< its tables and locks are mapped, so stripes and segments are accessible
  std::atomic<bool> cross_memory{false};
  bool encrypt = false;        ///< messages to and from it are encrypted
  Location location;           ///< `worker` and `is_deferred` change under the channel's lock, the rest never
  Channel* channel = nullptr;  ///< channel that communicates with it
  UnannouncedTransfers* unannounced_transfers = nullptr;  ///< counter of this channel
  Secret secret{};                                        ///< secret for sessions with it
  std::unique_ptr<RemoteSegments> segments;               ///< for a peer with shares_memory
  OriginStream messages;
  TrafficCounters traffic;

  /// Transfers without a position in the stream of messages; an empty object if there never were any.
  UnorderedTransfers const& transfers() const noexcept {
    return transfers_ != nullptr ? *transfers_ : UnorderedTransfers::none();
  }
  /// Returns nullptr if there never were any.
  UnorderedTransfers* transfers_if_any() noexcept { return transfers_.get(); }
  UnorderedTransfers& make_transfers() {
    if (transfers_ == nullptr) transfers_ = std::make_unique<UnorderedTransfers>();
    return *transfers_;
  }

  /// Keys of the network protocol; nullptr for a peer that was never asked for one.
  NetworkKeys* keys_if_any() const noexcept { return keys_.get(); }
  NetworkKeys& make_keys() {
    if (keys_ == nullptr) keys_ = std::make_unique<NetworkKeys>();
    return *keys_;
  }

 private:
  std::unique_ptr<UnorderedTransfers> transfers_;
  std::unique_ptr<NetworkKeys> keys_;
};

}  // namespace mpixrma::engine
