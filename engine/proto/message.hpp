/// The origin's side of the message path: operations become messages, replies complete them.
/// Under the channel's lock throughout.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/base/drops.hpp"
#include "engine/base/log.hpp"
#include "engine/base/text.hpp"
#include "engine/net/connections.hpp"
#include "engine/net/session.hpp"
#include "engine/net/transport.hpp"
#include "engine/op/operation.hpp"
#include "engine/origin/fragment.hpp"
#include "engine/origin/network_state.hpp"
#include "engine/origin/outstanding.hpp"
#include "engine/origin/peer.hpp"
#include "engine/sync/lock_table.hpp"

namespace mpixrma::engine {

class MessageProtocol {
 public:
  struct Settings {
    std::size_t fragment_bytes = 0;
    std::size_t credit_bytes = 0;   ///< maximum of data in flight to a peer
    std::size_t target_bytes = 0;   ///< memory for operations that wait to be sent to one peer
    std::size_t process_bytes = 0;  ///< the same for all peers, and for messages that UCX has not sent
    std::size_t joined_bytes = 0;   ///< largest batch; 0: no batches
  };

  /// Called with every answer about a segment, with its key if there is one, before any other message.
  using SegmentHandler =
      std::function<void(Peer&, wire::SegmentReply const&, std::span<std::byte const> key)>;
  /// Called when the owner of a segment revokes it, until it returns true.
  using RevokeHandler = std::function<bool(Peer&, std::uint64_t number, RemoteAddress base)>;

  MessageProtocol(Transport& transport, Connections& connections, Credentials const& credentials,
                  Settings const& settings, LockTable& locks, Log const& log)
      : transport_(transport),
        connections_(connections),
        credentials_(credentials),
        settings_(settings),
        locks_(locks),
        log_(log) {}

  /// Sets this process's address, which every handshake contains.
  void set_address(std::span<std::byte const> address) { address_ = address; }

  void set_segment_handlers(SegmentHandler learn, RevokeHandler revoke) {
    learn_ = std::move(learn);
    revoke_ = std::move(revoke);
  }

  /// Removes a lost peer. Returns false if it is still referenced.
  bool remove_peer(Peer& peer);

  /// Adds a peer, so that its loss can be reported. Called when the peer is created.
  void add_peer(Peer& peer);

  bool knows(std::uint64_t process) const { return peers_.contains(process); }

  /// `hold` are the stripes of an atomic operation in this process; they are held until it is executed.
  Issued issue(Peer& peer, RmaOp const& operation, StripeHold hold);

  /// Sends an operation for which the caller holds the stripes in both processes, ahead of everything that is
  /// not sent yet and whatever the credit is: earlier messages may wait for these stripes. It has no
  /// predecessors and at most a fragment's data; its completion tells its end. Not while the stream is
  /// suspended. unsupported: too many messages are not executed yet.
  Issued issue_ahead(Peer& peer, RmaOp const& operation);

  /// Requests a lock from the peer's agent, after all earlier operations. The completion is called when the
  /// lock is granted or the request has failed.
  Issued acquire(Peer& peer, LockRequest const& request);
  /// Makes later messages wait at the peer for the lock. `with_next`: the request is sent in a batch with the
  /// next operation, or at the next progress. Returns nullopt if it could not be sent at once.
  std::optional<Issued> acquire_in_stream(Peer& peer, LockRequest const& request, std::uint32_t context,
                                          bool with_next);
  /// Never queue behind a pending in-stream lock: returns whether the stream waits for a lock and the
  /// operation could not be sent at once. An operation queued here behind the lock would also delay answers
  /// to the peer.
  bool must_not_follow_lock(Peer& peer, Layout const& target, Guarantee guarantees) const;
  /// Releases the lock, after all earlier operations; a failure is kept under `context`.
  Issued release(Peer& peer, LockId lock, std::uint32_t owner, wire::ReleaseKind kind, std::uint32_t context);

  /// Requests the segment at `address`. The returned object, to be passed to release(), receives the answer,
  /// which is empty if there is no segment. Returns nullptr if the peer is unreachable.
  Outstanding* find_segment(Peer& peer, RemoteAddress address);
  /// Requests a key, behind all earlier messages; the segment handler receives the answer. There must be no
  /// unanswered question to the peer. Does nothing if the question would have to wait for a lock.
  void ask_for_key(Peer& peer, KeyQuestion const& question);
  void release(Outstanding& entry) noexcept { pool_.release(entry); }

  /// Whether everything up to `sequence` is executed and answered.
  static bool finished(Peer& peer, std::uint64_t sequence) noexcept;
  /// As finished(), for waiting callers: requests the acknowledgement if it is delayed.
  bool await(Peer& peer, std::uint64_t sequence);
  /// Whether no operation up to `sequence` uses origin or result buffers any more.
  static bool finished_locally(Peer& peer, std::uint64_t sequence) noexcept;

  /// Handles a message with replies.
  void on_message(wire::MessageClass kind, std::span<std::byte const> header,
                  std::span<std::byte const> payload) noexcept;
  /// Number of replies that came from unknown senders or matched no operation.
  std::uint64_t dropped() const noexcept { return drops_.count(); }

  /// Finishes operations whose origin buffers UCX has released, and resends rejected messages. Called after
  /// each progress of the transport.
  void settle_due();
  /// Whether there is work that no event announces: rejected operations wait for stripes of this process, or
  /// answers to revocations wait for users of the keys.
  bool has_waiting() const noexcept {
    return !refused_.empty() || !stalled_.empty() || !revocations_.empty();
  }

  /// Fails all outstanding operations to a process that is unreachable. Returns the peer, if there is one.
  Peer* lose(Connections::Loss const& loss);

  /// Returns the process whose session has this token for replies; nothing for an unauthenticated peer.
  std::optional<std::uint64_t> process_of(std::uint64_t session) const noexcept;
  /// Returns the token for requests of the session with the process; 0: none.
  std::uint64_t session_with(std::uint64_t process) const noexcept;

  // For engine/target/parting.hpp; a process that is not a peer has nothing in flight.
  bool is_idle(std::uint64_t process) const noexcept;
  std::uint64_t last_use(std::uint64_t process) const noexcept;
  /// Stops sending to the process until resume().
  void suspend(std::uint64_t process) noexcept;
  /// Closes the connection to the process, and drops its keys.
  void part(std::uint64_t process) noexcept;
  void resume(std::uint64_t process);

  /// Whether an issuing thread must wait until queued operations to the peer are sent.
  bool is_full(Peer& peer) const noexcept;

  /// Sends as many operations as the credit permits.
  void advance(Peer& peer);

  /// Sends the batch to the peer.
  void send_joined(Peer& peer);
  /// Sends the batches to all peers.
  void send_joined() {
    while (!joining_.empty()) send_joined(*joining_.back());
  }
  /// Whether there are batches. Any thread; relaxed, because it only triggers a check.
  bool is_joining() const noexcept { return is_joining_.load(std::memory_order_relaxed); }
  /// Number of request messages passed to the transport so far.
  std::uint64_t messages() const noexcept { return messages_; }
  /// Number of requests sent in batches so far.
  std::uint64_t joined() const noexcept { return joined_; }

  /// Returns false if the connection cannot be opened.
  bool connect(Peer& peer);

  /// Describes the unanswered lock requests as text.
  void describe_lock_requests(BoundedText& text) const;

 private:
  Status reach(Peer& peer);
  Outstanding& queue(Peer& peer, MessageOperation const& operation);
  MessageOperation lock_message(Peer const& peer, wire::RequestKind kind, LockId lock,
                                std::uint32_t owner) const noexcept;
  Issued start_message(Peer& peer, MessageOperation& operation, Guarantee guarantees, StripeHold hold);
  void send_all(Outstanding& entry);
  std::uint64_t newest_ahead(Peer const& peer) const noexcept;
  static std::uint64_t take_positions(Peer& peer, MessageOperation& operation, Guarantee guarantees,
                                      std::uint64_t messages);
  Outstanding& queue_question(Peer& peer, KeyQuestion const& question);
  void send_lock(Outstanding& entry);
  void send_again(Outstanding& entry);
  void take_grant(Peer& peer, wire::ReplyHeader const& header);
  void retry_refused();
  bool may_be_sent_at_once(Peer& peer, MessageOperation const& operation) const;
  Outstanding& remember(Peer& peer, MessageOperation const& operation);
  Status send_fragment(Peer& peer, MessageOperation const& operation, Fragment const& fragment,
                       std::uint64_t sequence, Outstanding* entry);
  bool joins(Peer& peer, MessageOperation const& operation, std::size_t payload_bytes) const noexcept;
  std::byte* join(Peer& peer, wire::RequestHeader& header, std::size_t payload_bytes);
  void begin_joined(Peer& peer);
  void forget_joined(Peer& peer) noexcept;
  static void charge(Peer& peer, wire::RequestHeader const& header, std::size_t payload_bytes) noexcept;
  static bool has_credit(Peer& peer) noexcept;
  bool may_start(Outstanding const& entry) const noexcept;
  Status send(Peer& peer, wire::RequestHeader& header, Message& message, std::size_t payload_bytes);
  bool introduce(Peer& peer);
  void note_sent(Outstanding& entry) noexcept;
  FragmentLimits limits_for(MessageOperation const& operation) const noexcept;

  void take(std::span<std::byte const> header, std::span<std::byte const> payload);
  void take_joined(std::span<std::byte const> header, std::span<std::byte const> payload);
  char const* take_reply(Peer& peer, wire::ReplyHeader const& header, std::span<std::byte const> payload);
  void settle(Peer& peer);
  void settle_acquiring();
  bool is_finished(Outstanding const& entry, std::uint64_t executed) const noexcept;
  void finish(Outstanding& entry) noexcept;
  void take_answer(Outstanding& entry, std::span<std::byte const> payload);
  void take_data(Outstanding& entry, wire::ReplyHeader const& header, std::span<std::byte const> payload);
  void take_failure(Peer& peer, wire::ReplyHeader const& header, std::span<std::byte const> payload);
  void answer_revocations();
  void answer_revocation(Peer& peer, std::uint64_t number);

  Peer* peer_of(std::uint64_t process) const noexcept;

  Transport& transport_;
  Connections& connections_;
  Credentials const& credentials_;
  std::span<std::byte const> address_;
  std::uint64_t introductions_ = 0;
  std::size_t queued_bytes_ = 0;
  Settings settings_;
  LockTable& locks_;  ///< its clock is raised to those of the peers
  SegmentHandler learn_;
  Log const& log_;
  RevokeHandler revoke_;
  OutstandingPool pool_;
  std::unordered_map<std::uint64_t, Peer*> peers_;     ///< by process
  std::unordered_map<std::uint64_t, Peer*> sessions_;  ///< by SessionTokens::reply
  Drops drops_{"reply", log_};
  std::vector<Peer*> due_;
  /// An operation whose target was busy.
  struct Refused {
    std::uint64_t token;
    unsigned pause;  ///< turns until the next attempt
  };
  std::vector<Refused> refused_;
  struct Revocation {
    Peer* peer;
    std::uint64_t number;
    RemoteAddress base;
  };
  std::vector<Revocation> revocations_;
  OutstandingList acquiring_;  ///< lock requests in flight, and operations sent ahead of others
  /// The newest message sent ahead of unsent ones, for the few peers with such messages.
  std::vector<std::pair<Peer const*, std::uint64_t>> ahead_;
  std::vector<Peer*> stalled_;  ///< the next operation waits for stripes of this process
  std::vector<Peer*> joining_;  ///< peers with a batch
  std::atomic<bool> is_joining_{false};
  std::uint64_t messages_ = 0;
  std::uint64_t joined_ = 0;
};

}  // namespace mpixrma::engine
