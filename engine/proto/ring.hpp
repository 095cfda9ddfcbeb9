/// Operations on unmapped memory of a process of this host, through the process's ring.
/// Complete when the call returns.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "engine/op/operation.hpp"
#include "engine/origin/peer.hpp"
#include "engine/proto/remainder.hpp"

namespace mpixrma::engine {

/// The two processes of an operation, and its conditions.
struct RingRoute {
  std::uint64_t origin;  ///< identity of this process
  Peer& peer;
  bool held;                         ///< the caller holds the stripes that the operation's flags require
  bool across;                       ///< the kernel could transfer the data
  std::chrono::nanoseconds timeout;  ///< time to wait for a process that does not poll
  /// Called while this process waits, because other processes may wait for this one in the same way.
  std::function<void()> const& serve;
};

/// Returns nullopt if the operation is unsuitable, if no slot is free, if the target is busy, or if it has
/// not polled for `timeout`; after a partial execution `left` receives the remaining ranges. Returns
/// bad_origin if a contiguous origin of a put or get is not accessible, transport if the peer is lost, or
/// else the target's status.
std::optional<Status> deliver(RmaOp const& operation, RingRoute const& route, std::vector<DataRange>* left);

}  // namespace mpixrma::engine
