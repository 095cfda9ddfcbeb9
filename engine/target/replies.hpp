/// Replies to origins: collected while requests are executed, and sent together. Under the channel's lock.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/memory/segment_table.hpp"
#include "engine/net/connections.hpp"
#include "engine/net/transport.hpp"
#include "engine/net/wire.hpp"
#include "engine/sync/lock_table.hpp"
#include "engine/target/origin.hpp"

namespace mpixrma::engine {

class Replies {
 public:
  /// An unsent reply.
  struct Reply {
    Origin* origin;
    wire::ReplyHeader header;
    Message* message;                     ///< contains the payload; nullptr: the payload is in `small_`
    std::size_t begin;                    ///< offset of the payload in `small_`
    std::byte const* borrowed = nullptr;  ///< the payload, if `message` refers to memory of the target

    /// The reply is sent or dropped.
    void note_removed() const noexcept {
      --origin->unsent_replies;
      if (message == nullptr) origin->waiting_bytes -= header.bytes;
    }
  };

  /// `batch_bytes`: size of the largest message of several replies; 0: each is sent alone.
  Replies(Transport& transport, Connections& connections, SegmentTable const& segments, LockTable& locks,
          std::size_t batch_bytes)
      : transport_(transport),
        connections_(connections),
        segments_(segments),
        locks_(locks),
        batch_bytes_(batch_bytes) {}

  /// Sets the credit that replies grant to each origin, in bytes.
  void set_credit(std::uint64_t bytes) noexcept { credit_ = bytes; }
  /// Maximum cost of executed requests whose acknowledgement is delayed: it must leave an origin credit for
  /// more.
  std::uint64_t max_unacked_bytes() const noexcept {
    return std::min<std::uint64_t>(wire::max_unacked_bytes, credit_ / 4);
  }
  /// Sets the function to be called after each reply to an origin whose unsent replies are bounded.
  void set_check(std::function<void(Origin&)> check) { check_unsent_ = std::move(check); }

  Reply& add(Origin& origin, wire::ReplyKind kind, wire::RequestHeader const& request);
  /// Returns the location for the payload of the newest reply; must be called before the next add().
  std::byte* add_payload(Reply& reply, std::size_t bytes);
  /// Whether replies to the origin may refer to memory outside of the message.
  bool may_borrow(Origin const& origin) noexcept {
    return borrowing_pauses_ == 0 && origin.unsent == nullptr && origin.endpoint != nullptr &&
           !transport_.is_sealed(origin.endpoint);
  }
  /// Adds a reply to the request with the `data`, which is read when the reply is sent: requests that
  /// Origin::follows_borrowing() must not be executed before.
  Reply& add_borrowed(Origin& origin, wire::RequestHeader const& request, std::span<std::byte const> data);
  /// Whether a reply refers to such memory and is not sent.
  bool has_borrowed() const noexcept { return borrowed_->bytes != 0; }
  /// Replies of requests executed before the matching resume_borrowing() have copies of their data.
  void pause_borrowing() noexcept { ++borrowing_pauses_; }
  void resume_borrowing() noexcept { --borrowing_pauses_; }
  /// `exposed_base`: the base of the exposure that was added to the request's address.
  void add_failure(Origin& origin, wire::RequestHeader const& request, Status status,
                   std::uint64_t exposed_base = 0);
  /// Number of replies since the last send_all().
  std::size_t size() const noexcept { return replies_.size(); }
  /// Removes the replies from this index on.
  void drop_from(std::size_t first) noexcept;

  /// Sends the origin an acknowledgement of all executed requests at the next send_all().
  void schedule_acknowledgement(Origin& origin);

  /// Whether there are replies to send.
  bool are_due() const noexcept {
    return !replies_.empty() || !unacknowledged_.empty() || !sending_.is_sent();
  }
  /// Sends all replies, then an acknowledgement to each origin that schedule_acknowledgement() has named and
  /// that has received none with a reply.
  void send_all();

  /// Removes the replies to an origin that is gone.
  void forget(Origin const* origin) noexcept;

 private:
  /// Replies that are being sent. If memory runs short, the next send_all() sends the rest.
  struct SendQueue {
    bool is_sent() const noexcept { return sent == replies.size() && acknowledged == unacknowledged.size(); }
    void forget(Origin const* origin, Transport& transport) noexcept;

    std::vector<Reply> replies;
    std::vector<std::byte> small;  ///< as `small_`
    std::vector<Origin*> unacknowledged;
    std::size_t sent = 0;          ///< number of `replies` that are sent
    std::size_t acknowledged = 0;  ///< number of `unacknowledged` that are done
  };

  void send_due();
  bool is_small(Reply const& reply) const noexcept;
  std::size_t count_together(std::span<Reply const> replies) const noexcept;
  std::size_t send_together(std::span<Reply> replies, std::span<std::byte const> payloads);
  std::size_t send_as_batch(std::span<Reply> replies, std::span<std::byte const> payloads);
  void send_alone(Reply& reply, std::span<std::byte const> payloads);
  void acknowledge(Origin& origin);
  void fill_acknowledgement(Origin& origin, wire::ReplyHeader& header) const;
  Message& new_message(Origin const& origin, std::size_t payload_bytes);
  void send(Origin& origin, wire::MessageClass kind, Message& message);

  Transport& transport_;
  Connections& connections_;
  SegmentTable const& segments_;
  LockTable& locks_;
  std::size_t batch_bytes_;
  std::uint64_t credit_ = wire::initial_credit;
  std::function<void(Origin&)> check_unsent_;
  std::vector<Reply> replies_;
  std::vector<std::byte> small_;  ///< payloads of small replies, each 8-byte-aligned
  std::vector<Origin*> unacknowledged_;
  SendQueue sending_;
  bool is_sending_ = false;
  std::shared_ptr<MessageAccount> borrowed_ = std::make_shared<MessageAccount>();  ///< of all origins
  unsigned borrowing_pauses_ = 0;
};

}  // namespace mpixrma::engine
