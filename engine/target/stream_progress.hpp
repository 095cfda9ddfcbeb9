/// The requests of a stream that are executed, and what its origin learns of that: an acknowledgement, a
/// refusal, or that the target is busy. Under the channel's lock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/net/connections.hpp"
#include "engine/net/wire.hpp"
#include "engine/target/buffer_budget.hpp"
#include "engine/target/origin.hpp"
#include "engine/target/replies.hpp"

namespace mpixrma::engine {

class StreamProgress {
 public:
  /// Requests of a run that were executed together.
  struct ExecutedRun {
    std::size_t requests;
    std::size_t data_bytes;  ///< of each
  };

  StreamProgress(Connections& connections, BufferBudget& buffers, Replies& replies) noexcept
      : connections_(connections), buffers_(buffers), replies_(replies) {}

  /// The request has taken its position of the stream. `cost`: wire::cost_of().
  void note_executed(Origin& origin, wire::RequestHeader const& header, std::uint64_t cost);
  /// The next requests of the stream have, of which `first` is the first.
  void note_executed(Origin& origin, wire::RequestHeader const& first, ExecutedRun run);
  /// Takes the request's position of the stream without executing it.
  void refuse(Origin& origin, wire::RequestHeader const& header, std::size_t payload_bytes, Status status);
  /// The origin will resend the request.
  void answer_busy(Origin& origin, wire::RequestHeader const& header, std::size_t payload_bytes);

  /// Number of requests of all origins.
  std::uint64_t executed() const noexcept { return executed_; }

 private:
  void take_position(Origin& origin, std::uint64_t sequence);

  Connections& connections_;
  BufferBudget& buffers_;
  Replies& replies_;
  std::uint64_t executed_ = 0;
};

}  // namespace mpixrma::engine
