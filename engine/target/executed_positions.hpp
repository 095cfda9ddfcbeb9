/// Advances the position up to which the requests of a stream are executed, and replies to the origin: by an
/// acknowledgement, an error, or `busy`. Under the channel's lock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/net/connections.hpp"
#include "engine/net/wire.hpp"
#include "engine/target/buffer_budget.hpp"
#include "engine/target/origin.hpp"
#include "engine/target/replies.hpp"

namespace mpixrma::engine {

class ExecutedPositions {
 public:
  /// Requests of a run that were executed together.
  struct ExecutedRun {
    std::size_t requests;
    std::size_t data_bytes;  ///< of each
  };

  ExecutedPositions(Connections& connections, BufferBudget& buffers, Replies& replies) noexcept
      : connections_(connections), buffers_(buffers), replies_(replies) {}

  /// Advances the stream by an executed request. `cost`: wire::cost_of().
  void note_executed(Origin& origin, wire::RequestHeader const& header, std::uint64_t cost);
  /// Advances the stream by a run of executed requests, which begins with `first`.
  void note_executed(Origin& origin, wire::RequestHeader const& first, ExecutedRun run);
  /// Delays the acknowledgement of a batch that ends with the request `last`, if all of it is executed.
  void delay_acknowledgement(Origin& origin, wire::RequestHeader const& last) noexcept;
  /// Advances the stream by a request that is not executed, and replies with the error.
  void reject(Origin& origin, wire::RequestHeader const& header, std::size_t payload_bytes, Status status);
  /// Asks the origin to send the request again; the stream does not advance.
  void reply_busy(Origin& origin, wire::RequestHeader const& header, std::size_t payload_bytes);

  /// Number of requests of all origins that were executed or rejected.
  std::uint64_t processed() const noexcept { return processed_; }

 private:
  void take_position(Origin& origin, std::uint64_t sequence);

  Connections& connections_;
  BufferBudget& buffers_;
  Replies& replies_;
  std::uint64_t processed_ = 0;
};

}  // namespace mpixrma::engine
