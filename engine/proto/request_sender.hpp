/// Passes requests to the transport, alone or in batches. Under the channel's lock, except where noted.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/net/connections.hpp"
#include "engine/net/transport.hpp"
#include "engine/origin/message_operation.hpp"
#include "engine/origin/peer.hpp"

namespace mpixrma::engine {

class RequestSender {
 public:
  /// `batch_bytes`: size of the largest batch; 0: no batches.
  RequestSender(Transport& transport, Connections& connections, std::size_t batch_bytes) noexcept
      : transport_(transport), connections_(connections), batch_bytes_(batch_bytes) {}

  /// Returns a message to be filled and passed to send().
  Message& message(std::size_t payload_bytes = 0) { return transport_.message(payload_bytes); }
  /// Sends the request, behind the batch if there is one.
  Status send(Peer& peer, wire::RequestHeader& header, Message& message, std::size_t payload_bytes);

  /// Whether the request, if small, goes in a batch: in the open batch, behind messages in flight whose
  /// acknowledgement is certain to arrive, or as the first one of a series; a lock request or release only if
  /// it may.
  bool goes_in_batch(Peer& peer, MessageOperation const& operation, std::size_t payload_bytes) const noexcept;
  /// Adds the request to the open batch, or to a new one; returns the location for its payload.
  std::byte* append(Peer& peer, wire::RequestHeader& header, std::size_t payload_bytes);
  /// Counts a request that the caller has appended to the batch.
  void note_appended(Peer& peer, wire::RequestHeader const& header, std::size_t payload_bytes) noexcept;
  /// Whether there are batches at all.
  bool makes_batches() const noexcept { return batch_bytes_ != 0; }

  /// An operation follows that is sent at once: with operations in the batch or in flight it ends a series.
  void note_series_end(Peer& peer) noexcept;
  /// Sends the batch to the peer.
  void send_batch(Peer& peer);
  /// Sends the batches to all peers.
  void send_batches() {
    while (!open_batches_.empty()) send_batch(*open_batches_.back());
  }
  /// Sends the batches to all peers for a thread that waits for operations in them.
  void send_awaited_batches();
  /// The open batch must not wait for an acknowledgement alone.
  void limit_wait(Peer& peer) noexcept;
  /// Sends the timed batches, which have waited long enough.
  void send_timed_batches();
  /// As send_timed_batches(), for the agent, which has found that no thread has called the library since the
  /// agent's previous check.
  void send_abandoned_batches();
  /// Whether there are timed batches.
  bool has_timed_batch() const noexcept { return timed_ != 0; }
  /// Whether, since the last call, a batch has become timed while no other was.
  bool take_newly_timed() noexcept { return std::exchange(newly_timed_, false); }
  /// Batches may be timed while the agent is awake: it looks for them before it sleeps. Any thread.
  void permit_deferral(bool permitted) noexcept {
    deferral_permitted_.store(permitted, std::memory_order_relaxed);
  }
  /// Gives up the connection: there is no memory for a message that has a position in the stream.
  void fail_connection(Peer const& peer);
  /// Drops the batch to a lost peer.
  void discard_batch(Peer& peer) noexcept;
  /// Whether there are unsent batches. Any thread; relaxed, because it only triggers a check.
  bool has_open_batch() const noexcept { return has_open_batch_.load(std::memory_order_relaxed); }

  /// Whether messages to the peer are encrypted; see Transport::is_sealed().
  bool is_sealed(Peer& peer) const noexcept;
  /// Memory of messages that UCX has not sent.
  std::size_t unsent_bytes() const noexcept { return transport_.unsent_bytes(); }
  /// Number of request messages passed to the transport so far.
  std::uint64_t messages() const noexcept { return messages_; }
  /// Number of requests added to batches so far.
  std::uint64_t in_batches() const noexcept { return in_batches_; }

 private:
  void begin_batch(Peer& peer, wire::RequestHeader const& header);
  bool may_defer(Peer& peer, MessageOperation const& operation) const noexcept;
  void forget_batch(Peer& peer) noexcept;

  Transport& transport_;
  Connections& connections_;
  std::size_t batch_bytes_;
  std::vector<Peer*> open_batches_;  ///< peers with a batch
  std::atomic<bool> has_open_batch_{false};
  std::atomic<bool> deferral_permitted_{false};
  bool newly_timed_ = false;
  std::size_t timed_ = 0;  ///< number of timed batches
  std::uint64_t messages_ = 0;
  std::uint64_t in_batches_ = 0;
};

}  // namespace mpixrma::engine
