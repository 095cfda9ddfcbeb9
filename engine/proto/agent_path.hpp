/// The origin's side of the agent path: operations become messages, replies complete them.
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
#include "engine/origin/outstanding.hpp"
#include "engine/origin/peer.hpp"
#include "engine/sync/lock_table.hpp"

namespace mpixrma::engine {

class AgentPath {
 public:
  struct Settings {
    std::size_t fragment_bytes = 0;
    std::size_t window_bytes = 0;   ///< most that is under way to a peer
    std::size_t target_bytes = 0;   ///< memory that operations waiting to be sent to one peer may take
    std::size_t process_bytes = 0;  ///< the same for all peers, and for messages that UCX has not sent
    std::size_t joined_bytes = 0;   ///< largest message of several requests; 0: each travels alone
  };

  /// Called with every answer about a segment, and with its key if there is one, before any other message.
  using SegmentHandler =
      std::function<void(Peer&, wire::SegmentReply const&, std::span<std::byte const> key)>;
  /// Called when the owner of a segment wants it forgotten, until it returns true.
  using RevokeHandler = std::function<bool(Peer&, std::uint64_t number, RemoteAddress base)>;

  AgentPath(Transport& transport, Connections& connections, Credentials const& credentials,
            Settings const& settings, LockTable& locks, Log const& log)
      : transport_(transport),
        connections_(connections),
        credentials_(credentials),
        settings_(settings),
        locks_(locks),
        log_(log) {}

  /// Where this process tells every peer that it can be reached.
  void set_address(std::span<std::byte const> address) { address_ = address; }

  void set_segment_handlers(SegmentHandler learn, RevokeHandler revoke) {
    learn_ = std::move(learn);
    revoke_ = std::move(revoke);
  }

  /// The peer, which is lost, is not to be known any more. False: something still refers to it.
  bool remove_peer(Peer& peer);

  /// Makes the loss of `peer` known. Called when the peer is made.
  void add_peer(Peer& peer);

  bool knows(std::uint64_t process) const { return peers_.contains(process); }

  /// `hold` are the stripes of an atomic operation in this process; they are held until it is executed.
  Issued issue(Peer& peer, Transfer const& transfer, StripeHold hold);
  Issued issue(Peer& peer, Update const& update, StripeHold hold);

  /// Sends an operation for which the caller holds the stripes in both processes, ahead of everything that is
  /// not sent yet and whatever the credit is: earlier messages may wait for these stripes. It has no
  /// predecessors and at most a fragment's data; its completion tells its end. Not while the stream is
  /// suspended. unsupported: too many messages are not executed yet.
  Issued issue_ahead(Peer& peer, Transfer const& transfer);
  Issued issue_ahead(Peer& peer, Update const& update);

  /// Asks the peer's agent for a lock, after everything that was issued before. The completion is told when
  /// it is granted, or is not to be had.
  Issued acquire(Peer& peer, LockRequest const& request);
  /// Messages from here on wait at the peer for the lock. `with_next`: the request leaves with what is issued
  /// next, or with the next progress. nullopt: it could not be sent at once.
  std::optional<Issued> acquire_in_stream(Peer& peer, LockRequest const& request, std::uint32_t context,
                                          bool with_next);
  /// Whether the stream waits for a lock, and the operation cannot follow at once without holding anything:
  /// what is kept here behind the lock would keep answers to the peer waiting, too.
  bool must_not_follow_lock(Peer& peer, Layout const& target, Guarantee guarantees) const;
  /// Gives it back, after everything that was issued before; a failure is kept under `context`.
  Issued release(Peer& peer, LockId lock, std::uint32_t owner, wire::ReleaseKind kind, std::uint32_t context);

  /// Asks for the segment at `address`, or for the one that holds `exposure`; the answer is in the returned
  /// object, to be given to release(): empty when there is none. nullptr when the peer cannot be reached.
  Outstanding* find_segment(Peer& peer, RemoteAddress address, ExposureId exposure);
  void release(Outstanding& entry) noexcept { pool_.release(entry); }

  /// Whether everything up to `sequence` is executed and answered.
  static bool finished(Peer& peer, std::uint64_t sequence) noexcept;
  /// The same for whoever waits: asks for the acknowledgement where it does not come by itself.
  bool await(Peer& peer, std::uint64_t sequence);
  /// Whether no operation up to `sequence` refers to origin or result buffers any more.
  static bool finished_locally(Peer& peer, std::uint64_t sequence) noexcept;

  /// Takes a message of replies.
  void on_message(wire::MessageClass kind, std::span<std::byte const> header,
                  std::span<std::byte const> payload) noexcept;
  /// Replies that nobody is known to have sent, or that fit nothing.
  std::uint64_t dropped() const noexcept { return drops_.count(); }

  /// Finishes operations whose origin buffers UCX has let go of, and sends again what was refused. After each
  /// progress of the transport.
  void settle_due();
  /// Something waits that no event announces: refused operations for stripes of this process, answers to
  /// revocations for the end of what uses the keys.
  bool has_waiting() const noexcept {
    return !refused_.empty() || !stalled_.empty() || !revocations_.empty();
  }

  /// The process is out of reach: everything outstanding to it fails. The peer, if there is one.
  Peer* lose(Connections::Loss const& loss);

  /// With whom this process has the session with this token for replies; nothing for a stranger.
  std::optional<std::uint64_t> process_of(std::uint64_t session) const noexcept;
  /// The token for requests of the session with the process; 0: there is none.
  std::uint64_t session_with(std::uint64_t process) const noexcept;

  // For engine/target/parting.hpp; of a process that is no peer there is nothing under way.
  bool is_idle(std::uint64_t process) const noexcept;
  std::uint64_t last_use(std::uint64_t process) const noexcept;
  /// Nothing is sent to the process, until resume().
  void suspend(std::uint64_t process) noexcept;
  /// The connection to the process is closed, and with it go the keys.
  void part(std::uint64_t process) noexcept;
  void resume(std::uint64_t process);

  /// Whether whoever wants to issue more to the peer has to wait until some of what waits is sent.
  bool is_full(Peer& peer) const noexcept;

  /// Sends what the window permits.
  void advance(Peer& peer);

  /// Sends the small requests to the peer that wait to leave together.
  void send_joined(Peer& peer);
  /// Those to all peers.
  void send_joined() {
    while (!joining_.empty()) send_joined(*joining_.back());
  }
  /// Whether there are some. By any thread: with relaxed order, for it is only about when to look.
  bool is_joining() const noexcept { return is_joining_.load(std::memory_order_relaxed); }
  /// Messages of requests that were handed to the transport so far.
  std::uint64_t messages() const noexcept { return messages_; }
  /// Requests that have travelled with others so far.
  std::uint64_t joined() const noexcept { return joined_; }

  /// False: the peer cannot be connected to.
  bool connect(Peer& peer);

  /// The requests for locks that are not answered, as text.
  void describe_lock_requests(BoundedText& text) const;

 private:
  Status reach(Peer& peer);
  Outstanding& queue(Peer& peer, MessageOperation const& operation);
  MessageOperation lock_message(Peer const& peer, wire::RequestKind kind, LockId lock,
                                std::uint32_t owner) const noexcept;
  template <typename Operation>
  Issued start(Peer& peer, MessageOperation message, Operation const& operation, StripeHold hold);
  Issued start_message(Peer& peer, MessageOperation& operation, Guarantee guarantees, StripeHold hold);
  template <typename Operation>
  Issued start_ahead(Peer& peer, MessageOperation message, Operation const& operation);
  void send_all(Outstanding& entry);
  std::uint64_t newest_ahead(Peer const& peer) const noexcept;
  static std::uint64_t take_positions(Peer& peer, MessageOperation& operation, Guarantee guarantees,
                                      std::uint64_t messages);
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
  static bool window_open(Peer& peer) noexcept;
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
  LockTable& locks_;  ///< whose clock hears those of the peers
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
  OutstandingList acquiring_;  ///< requests for locks that are sent, and what was sent ahead of others
  /// The newest message that was sent ahead of others that were not sent yet, of the few peers with such.
  std::vector<std::pair<Peer const*, std::uint64_t>> ahead_;
  std::vector<Peer*> stalled_;  ///< whose next operation waits for stripes of this process
  std::vector<Peer*> joining_;  ///< to whom small requests wait to leave together
  std::atomic<bool> is_joining_{false};
  std::uint64_t messages_ = 0;
  std::uint64_t joined_ = 0;
};

}  // namespace mpixrma::engine
