/// Operations of the message protocol that must be tracked after they are issued, because data, an
/// acknowledgement or further fragments are outstanding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "engine/net/wire.hpp"
#include "engine/origin/message_operation.hpp"
#include "engine/sync/stripes.hpp"

namespace mpixrma::engine {

class OriginStreams;
class TrackedOperationList;
class Peer;

/// An atomic operation on another process that takes several messages first requests the target's stripes.
enum class LockState : std::uint8_t { not_needed, needed, requested, granted };

struct TrackedOperation {
  MessageOperation operation;
  OwnedLayout target_layout;  ///< the layouts that `operation` views
  OwnedLayout source_layout;
  OwnedLayout sink_layout;
  UniqueStripeLock stripe_lock;  ///< stripes in this process of an atomic operation, until it is executed
  LockState lock = LockState::not_needed;
  OriginStreams* streams = nullptr;  ///< while `sends_in_flight` is not 0
  Peer* peer = nullptr;
  std::uint64_t operation_id = 0;
  std::uint64_t first_sequence = 0;
  std::uint64_t next_sequence = 0;  ///< position of the next message to be sent
  std::uint64_t last_sequence = 0;  ///< position of the last fragment
  std::size_t sent = 0;             ///< bytes of the operation that are passed to UCX
  std::size_t returned = 0;         ///< bytes that were returned, or whose fragments failed
  bool executed = false;            ///< the target has reported the execution of this operation
  unsigned busy_replies = 0;        ///< number of replies `busy` so far
  unsigned sends_in_flight = 0;     ///< messages that refer to the origin buffer
  Status status = Status::ok;
  bool reported = false;  ///< the failure is reported; later failures of its messages are not
  std::optional<wire::SegmentReply> segment;  ///< reply to a find_segment
  TrackedOperationList* list = nullptr;       ///< list that contains it
  TrackedOperation* previous = nullptr;
  TrackedOperation* next = nullptr;
  std::size_t queued_bytes = 0;  ///< as in OriginStream, until it is sent completely
  bool live = false;

  bool is_a(wire::RequestKind kind) const noexcept { return operation.header.kind == kind; }
  bool started() const noexcept { return next_sequence != first_sequence; }
  bool sent_completely() const noexcept { return next_sequence > last_sequence; }
  /// Whether the operation no longer uses its origin and result buffers.
  bool buffers_released() const noexcept {
    if (!sent_completely() || sends_in_flight != 0) return false;
    if (operation.expects_data()) return returned == operation.total;
    // The separate reply may be `busy`; the operation is then sent again.
    return (operation.header.flags & wire::flag_separate_reply) == 0;
  }
};

/// Doubly linked through the objects: removal from the middle without search.
class TrackedOperationList {
 public:
  TrackedOperation* front() const noexcept { return front_; }
  TrackedOperation* back() const noexcept { return back_; }
  void push_back(TrackedOperation& entry) noexcept;
  void remove(TrackedOperation& entry) noexcept;

 private:
  TrackedOperation* front_ = nullptr;
  TrackedOperation* back_ = nullptr;
};

/// Owns the objects and identifies them by ids that are not reused soon, so that a late or forged reply
/// does not match another operation.
class TrackedOperationPool {
 public:
  TrackedOperation& take();
  void release(TrackedOperation& entry) noexcept;
  /// Returns nullptr for an operation id that identifies no live operation.
  TrackedOperation* find(std::uint64_t operation_id) noexcept;

 private:
  std::deque<TrackedOperation> entries_;  ///< addresses are stable
  std::vector<std::uint32_t> free_;
};

}  // namespace mpixrma::engine
