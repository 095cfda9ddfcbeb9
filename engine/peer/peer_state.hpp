/// Everything about a peer that the inline hot path does not need.
#pragma once

#include <ucp/api/ucp.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "engine/path/outstanding.hpp"
#include "engine/peer/address.hpp"
#include "engine/segment/remote_segments.hpp"

namespace mpix::engine {

/// The state of the messages to a peer. Under the engine's lock, but for `executed`.
struct MessageStream {
  ucp_ep_h endpoint = nullptr;  ///< made by the first message
  bool broken = false;          ///< the connection was lost; nothing is sent any more
  /// Every message up to here is executed at the peer.
  std::atomic<std::uint64_t> executed{0};
  /// Messages of later operations carry it: not to be executed before this position is.
  std::uint64_t fence = 0;
  /// Newest message with the ordering guarantee.
  std::uint64_t ordered = 0;
  /// Operations that wait for replies or acknowledgements, in the order of issue.
  OutstandingList unfinished;
  /// Operations of `unfinished` that are not sent completely, in the order of issue.
  std::deque<Outstanding*> unsent;
  struct LateError {
    std::uint32_t context;
    Status status;
  };
  /// Failures of operations without a completion object; first one per context.
  std::vector<LateError> errors;
};

/// A peer's segment that is reached with UCX put and get.
struct RemoteKey {
  std::size_t length = 0;
  ucp_rkey_h key = nullptr;
};

/// The state of UCX put and get to a peer. Under the engine's lock.
struct RdmaState {
  std::map<RemoteAddress, RemoteKey> keys;  ///< by base of the segment
  std::uint64_t pending = 0;                ///< requests that are not complete at the origin
  bool dirty = false;                       ///< something was put since the last endpoint flush
  bool flush_first = false;                 ///< a fence demands a flush before the next operation
};

struct PeerState {
  ProcessAddress address;
  bool same_machine = false;  ///< it runs on this host, whether or not its memory is at hand
  bool same_host = false;     ///< its control segment is mapped: stripes and segments are at hand
  std::atomic<bool> cross_memory{false};
  RemoteSegments segments;
  MessageStream messages;
  RdmaState rdma;
};

}  // namespace mpix::engine
