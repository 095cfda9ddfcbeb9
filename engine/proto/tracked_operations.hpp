/// The operations of the message protocol that are remembered until they are complete. Under the channel's
/// lock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/base/text.hpp"
#include "engine/origin/peer.hpp"
#include "engine/origin/tracked_operation.hpp"

namespace mpixrma::engine {

class TrackedOperations {
 public:
  /// Copies the parts of the operation that must outlive the caller's arrays.
  TrackedOperation& remember(Peer& peer, MessageOperation const& operation);
  /// Records that the operation is sent completely: it waits for replies only.
  void note_sent(TrackedOperation& entry) noexcept;
  /// Keeps an operation outside of its stream's issue order, where completion calls do not wait for it.
  void add_detached(TrackedOperation& entry) noexcept { detached_.push_back(entry); }

  /// Returns nullptr for an operation id that identifies no live operation on the peer.
  TrackedOperation* find(Peer const& peer, std::uint64_t operation_id) noexcept;
  /// The same for an operation on any peer.
  TrackedOperation* find(std::uint64_t operation_id) noexcept { return pool_.find(operation_id); }
  void release(TrackedOperation& entry) noexcept { pool_.release(entry); }

  /// `executed`: every message up to this position is executed.
  static bool is_finished(TrackedOperation const& entry, std::uint64_t executed) noexcept;
  /// Calls the completion object, or keeps a failure, and releases the operation. The caller of
  /// OriginStreams::find_segment() releases its query itself.
  void finish(TrackedOperation& entry) noexcept;
  /// Finishes the operations that wait outside of the issue order and are complete.
  void finish_detached();

  /// Memory of operations that are not sent completely, to all peers.
  std::size_t queued_bytes() const noexcept { return queued_bytes_; }
  /// Whether operations on the peer wait outside of the issue order.
  bool has_detached(Peer const& peer) const noexcept;
  /// Fails everything that the lost peer has not completed.
  void fail(Peer& peer) noexcept;

  /// Describes the lock requests that await their replies as text.
  void describe_lock_requests(BoundedText& text) const;

 private:
  bool must_await_failures(TrackedOperation const& entry) const noexcept;
  void report_once(TrackedOperation& entry) noexcept;

  TrackedOperationPool pool_;
  std::size_t queued_bytes_ = 0;
  TrackedOperationList detached_;  ///< lock requests in flight, and operations sent ahead of others
};

}  // namespace mpixrma::engine
