/// Executes a request of a stream and replies to it. Under the channel's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/memory/fault_guard.hpp"
#include "engine/net/wire.hpp"
#include "engine/sync/stripes.hpp"
#include "engine/target/buffer_budget.hpp"
#include "engine/target/executed_positions.hpp"
#include "engine/target/execution_trace.hpp"
#include "engine/target/origin.hpp"
#include "engine/target/replies.hpp"
#include "engine/target/requested_locks.hpp"
#include "engine/target/requested_memory.hpp"
#include "engine/target/segment_queries.hpp"

namespace mpixrma::engine {

class RequestExecution {
 public:
  /// The parts of the executor that this class uses.
  struct Parts {
    BufferBudget& buffers;
    Replies& replies;
    RequestedLocks& locks;
    RequestedMemory const& memory;
    SegmentQueries& queries;
    ExecutedPositions& executed_positions;
    ExecutionTrace const& trace;
  };

  RequestExecution(Parts const& parts, std::size_t fragment_bytes) noexcept
      : parts_(parts), fragment_bytes_(fragment_bytes) {}

  /// `stripe_lock`: the stripes that the request requires, unless the cache or its operation holds them.
  /// `resolved`: the result of RequestedMemory::resolve().
  void perform(Origin& origin, wire::CheckedRequest const& request, UniqueStripeLock stripe_lock,
               std::size_t payload_bytes, Status resolved);

 private:
  void grant_stripes(Origin& origin, wire::RequestHeader const& header, UniqueStripeLock stripe_lock,
                     std::size_t payload_bytes);
  void queue_lock_request(Origin& origin, wire::RequestHeader const& header, std::size_t payload_bytes);
  void execute_or_fail(Origin& origin, wire::CheckedRequest const& request, Status status);
  Status execute(Origin& origin, wire::CheckedRequest const& request);
  Status notify(Origin& origin, wire::RequestHeader const& header, Status outcome);
  Status move_data(Origin& origin, wire::CheckedRequest const& request, FaultRange accessed);
  std::span<std::byte const> range_to_borrow(Origin const& origin, wire::CheckedRequest const& request);
  std::byte* new_data(Origin& origin, wire::RequestHeader const& header, std::uint64_t done,
                      std::size_t bytes);

  Parts parts_;
  std::size_t fragment_bytes_;
};

}  // namespace mpixrma::engine
