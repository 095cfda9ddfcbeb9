/// Batches of requests, and the runs in them (engine/net/request_run.hpp). Under the channel's lock.
#pragma once

#include <cstddef>
#include <span>

#include "engine/base/drops.hpp"
#include "engine/net/request_run.hpp"
#include "engine/net/wire.hpp"
#include "engine/target/executed_positions.hpp"
#include "engine/target/execution_trace.hpp"
#include "engine/target/lock_replies.hpp"
#include "engine/target/origin.hpp"
#include "engine/target/origin_table.hpp"
#include "engine/target/replies.hpp"
#include "engine/target/request_stripe_cache.hpp"
#include "engine/target/requested_memory.hpp"
#include "engine/target/target_streams.hpp"
#include "engine/target/unsent_replies.hpp"

namespace mpixrma::engine {

class RequestBatches {
 public:
  /// The parts of the executor that this class uses.
  struct Parts {
    Drops& drops;
    OriginTable const& origins;
    Replies& replies;
    UnsentReplies const& unsent;
    RequestedMemory const& memory;
    RequestStripeCache& stripes;
    ExecutedPositions& executed_positions;
    TargetStreams& streams;
    LockReplies& lock_replies;
    ExecutionTrace const& trace;
  };

  explicit RequestBatches(Parts const& parts) noexcept : parts_(parts) {}

  void handle(std::span<std::byte const> header, std::span<std::byte const> payload);

 private:
  char const* take_records(Origin& origin, std::span<std::byte const> records);
  void take_run(Origin& origin, wire::RequestRun run);
  std::size_t execute_together(Origin& origin, wire::RequestRun const& run);
  bool acquire_element_stripes(wire::CheckedRequest const& request) noexcept;

  Parts parts_;
};

}  // namespace mpixrma::engine
