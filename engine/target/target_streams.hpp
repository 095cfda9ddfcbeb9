/// The streams of requests from other processes: the order of their execution. Under the channel's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <span>
#include <vector>

#include "engine/base/drops.hpp"
#include "engine/base/text.hpp"
#include "engine/net/connections.hpp"
#include "engine/net/wire.hpp"
#include "engine/sync/stripes.hpp"
#include "engine/target/buffer_budget.hpp"
#include "engine/target/executed_positions.hpp"
#include "engine/target/origin.hpp"
#include "engine/target/request_execution.hpp"
#include "engine/target/request_stripe_cache.hpp"
#include "engine/target/requested_memory.hpp"
#include "engine/target/unsent_replies.hpp"

namespace mpixrma::engine {

class TargetStreams {
 public:
  /// The parts of the executor that this class uses.
  struct Parts {
    Drops& drops;
    Connections& connections;
    BufferBudget& buffers;
    UnsentReplies& unsent;
    RequestedMemory const& memory;
    RequestStripeCache& stripes;
    ExecutedPositions& executed_positions;
    RequestExecution& execution;
  };

  explicit TargetStreams(Parts const& parts) noexcept : parts_(parts) {}

  /// Executes a request that has arrived and those that it unblocks, or buffers it until it may be executed.
  void handle(Origin& origin, std::span<std::byte const> header, std::span<std::byte const> payload);
  /// Executes buffered requests of the origin that may be executed now.
  void execute_waiting(Origin& origin);
  /// As execute_waiting(), for origins whose requests wait until replies to these origins are sent.
  void retry_waiting();
  /// Executes requests whose stripes have become free.
  void retry_blocked();
  /// Whether requests wait for stripes, whose release no event announces.
  bool has_blocked() const noexcept { return !blocked_.empty(); }

  /// Drops the requests of an origin that is gone.
  void forget(Origin const& origin) noexcept;
  /// Describes the requests that wait for stripes.
  void describe_blocked(BoundedText& text) const;

 private:
  /// Calls execute(), which executes requests of the origin that were taken out of their buffers. If memory
  /// runs short, the connection is lost: a request must not be lost silently.
  template <typename Execute>
  void execute_or_lose(Origin const& origin, Execute execute);
  void execute_unblocked(Origin& origin);

  /// A request that waits for stripes.
  struct BlockedRequest {
    Origin* origin;
    BufferedRequest buffered;
    UniqueStripeLock stripe_lock;
  };

  void buffer(Origin& origin, BufferedRequest buffered);
  std::span<std::byte> room_for_layout(std::span<std::byte const> header, std::size_t payload_bytes);
  void execute_or_defer(Origin& origin, wire::CheckedRequest& request, std::span<std::byte const> header,
                        std::size_t payload_bytes);

  Parts parts_;
  std::list<BlockedRequest> blocked_;  ///< in the order of arrival
  std::vector<std::uint64_t> layout_;  ///< buffer of room_for_layout()
};

}  // namespace mpixrma::engine
