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
  std::uint64_t origin;  ///< process
  Peer& peer;
  bool held;                         ///< the caller holds the stripes that the operation's flags require
  bool across;                       ///< the kernel could transfer the data
  std::chrono::nanoseconds timeout;  ///< time to wait for a process that does not poll
  /// Called while this process waits, because others may wait for it in the same way.
  std::function<void()> const& serve;
};

/// Returns nullopt if the operation is unsuitable, or the target has not polled for `timeout`; if it stopped
/// polling in the middle, `left` receives the remaining ranges. Returns bad_origin if the memory of a put or
/// get is not mapped, or else the target's status.
std::optional<Status> deliver(RmaOp const& operation, RingRoute const& route, std::vector<DataRange>* left);

}  // namespace mpixrma::engine
