/// Checks replies, and passes on what they report. Under the channel's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>

#include "engine/base/drops.hpp"
#include "engine/base/log.hpp"
#include "engine/net/connections.hpp"
#include "engine/net/wire.hpp"
#include "engine/origin/peer.hpp"
#include "engine/origin/tracked_operation.hpp"
#include "engine/proto/origin_sessions.hpp"
#include "engine/proto/origin_streams.hpp"
#include "engine/proto/revocations.hpp"
#include "engine/proto/tracked_operations.hpp"
#include "engine/sync/lock_table.hpp"

namespace mpixrma::engine {

class ReplyHandler {
 public:
  /// Called with every reply about a segment, with the key if there is one, before any later message.
  using SegmentHandler =
      std::function<void(Peer&, wire::SegmentReply const&, std::span<std::byte const> key)>;

  /// The parts of the message protocol that replies concern.
  struct Parts {
    Connections& connections;
    OriginSessions& sessions;
    TrackedOperations& tracked;
    OriginStreams& streams;
    Revocations& revocations;
    LockTable& locks;  ///< its clock is raised to those of the peers
  };

  /// `credit_bytes`: maximum of data in flight to a peer.
  ReplyHandler(Parts const& parts, std::size_t credit_bytes, Log const& log)
      : parts_(parts), credit_bytes_(credit_bytes), log_(log) {}

  void set_segment_handler(SegmentHandler learn) { learn_ = std::move(learn); }

  /// Handles a message with replies.
  void on_message(wire::MessageClass kind, std::span<std::byte const> header,
                  std::span<std::byte const> payload) noexcept;
  /// Number of dropped replies: malformed, from unknown senders, without a matching operation, or without
  /// memory to handle them.
  std::uint64_t dropped() const noexcept { return drops_.count(); }

 private:
  void handle(std::span<std::byte const> header, std::span<std::byte const> payload);
  void handle_batch(std::span<std::byte const> header, std::span<std::byte const> payload);
  char const* handle_reply(Peer& peer, wire::ReplyHeader const& header, std::span<std::byte const> payload);
  void handle_segment_reply(TrackedOperation& entry, std::span<std::byte const> payload);
  void handle_data(TrackedOperation& entry, wire::ReplyHeader const& header,
                   std::span<std::byte const> payload);
  void handle_failure(Peer& peer, wire::ReplyHeader const& header, std::span<std::byte const> payload);
  void handle_grant(Peer& peer, wire::ReplyHeader const& header);

  Parts parts_;
  std::size_t credit_bytes_;
  SegmentHandler learn_;
  Log const& log_;
  Drops drops_{"reply", log_};
};

}  // namespace mpixrma::engine
