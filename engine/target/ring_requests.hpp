/// Executes the requests in the process's ring. Under the channel's lock, except where noted.
#pragma once

#include <array>
#include <cstddef>

#include "engine/base/drops.hpp"
#include "engine/net/ring.hpp"
#include "engine/net/wire.hpp"
#include "engine/target/execution_trace.hpp"
#include "engine/target/request_stripe_cache.hpp"
#include "engine/target/requested_memory.hpp"

namespace mpixrma::engine {

class RingRequests {
 public:
  /// The parts of the executor that this class uses.
  struct Parts {
    Drops& drops;
    RequestedMemory const& memory;
    RequestStripeCache& stripes;
    ExecutionTrace const& trace;
  };

  explicit RingRequests(Parts const& parts) noexcept : parts_(parts) {}

  /// Any thread.
  bool has_news(Ring const& ring) const noexcept { return reader_.has_news(ring); }
  /// Executes the requests in the ring; returns their number.
  int take(Ring& ring) noexcept;

 private:
  Status execute_entry(RingEntry const& entry, std::byte* reply) noexcept;
  Status execute_staged(StagedRequest& staged, Staging staging) noexcept;
  Status execute_entry(wire::CheckedRequest& request, char const* fault, std::byte* reply) noexcept;

  Parts parts_;
  RingReader reader_;
  alignas(64)
      std::array<std::byte, StagedRequest::max_data> fetched_;  ///< data to be copied by non-temporal stores
};

}  // namespace mpixrma::engine
