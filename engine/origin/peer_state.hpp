/// Everything about a peer that the inline hot path does not need.
#pragma once

#include <ucp/api/ucp.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "engine/net/address.hpp"
#include "engine/net/joined.hpp"
#include "engine/net/session.hpp"
#include "engine/op/late_error.hpp"
#include "engine/op/statistics.hpp"
#include "engine/origin/outstanding.hpp"
#include "engine/origin/rdma_state.hpp"
#include "engine/origin/recent_accesses.hpp"
#include "engine/origin/remote_segments.hpp"

namespace mpixrma::engine {

class Channel;
class Message;

/// Small requests that wait to leave in one message, behind what is under way.
struct JoinedRequests {
  Message* message = nullptr;  ///< nullptr: there are none
  wire::JoinedWriter<wire::RequestHeader> records;
  std::uint64_t last_sequence = 0;
  bool ends_quiet = false;  ///< the acknowledgement of the last one does not come by itself
};

/// The state of the messages to a peer. Under the channel's lock, but for `executed`.
struct MessageStream {
  ucp_ep_h endpoint = nullptr;  ///< asked for by the first message
  std::uint64_t session = 0;    ///< SessionTokens::request, set with it
  bool broken = false;          ///< the connection was lost; nothing is sent any more
  bool suspended = false;       ///< nothing is sent until the peer says whether the connection is closed
  /// Until `fence` is executed the stream may wait for a lock. By any thread.
  std::atomic<bool> locks{false};
  bool sent_quiet = false;      ///< the acknowledgement of `newest_sent` does not come by itself
  std::uint32_t quiet_run = 0;  ///< how many of the kind end with `quiet`
  std::uint64_t last_use = 0;   ///< as Connections::note_use, when something was sent
  /// Every message up to here is executed at the peer.
  std::atomic<std::uint64_t> executed{0};
  /// Messages of later operations carry it: not to be executed before this position is.
  std::uint64_t fence = 0;
  /// Newest message with a guarantee of order.
  std::uint64_t ordered = 0;
  /// Of messages with Guarantee::overlap_ordered, where other paths lead to the peer as well; else null.
  std::unique_ptr<RecentAccesses> accesses;
  /// Operations that wait for replies or acknowledgements, in the order of issue.
  OutstandingList unfinished;
  /// The first operation of `unfinished` that is not sent completely; none behind it is, either.
  Outstanding* unsent = nullptr;
  /// Credit: the cost of what was sent, of what the peer has done with, and how far they may be apart.
  std::uint64_t sent = 0;
  std::uint64_t done = 0;
  std::uint64_t window = wire::first_window;
  std::uint64_t newest_sent = 0;  ///< message
  /// The newest message whose acknowledgement does not come by itself.
  std::uint64_t quiet = 0;
  /// Made when it is wanted first. What is in it is paid for, but not sent; as long as there is something, an
  /// acknowledgement is to come, but for a request for a lock and what follows it: they leave with the next
  /// progress.
  std::unique_ptr<JoinedRequests> joined;
  /// What operations that are not sent completely take of this process's memory, bytes.
  std::size_t queued_bytes = 0;
  /// By context: the newest message of operations that nothing is kept of; pairs, cleared when all are
  /// executed.
  std::vector<std::pair<std::uint32_t, std::uint64_t>> forgotten;
  /// Failures of operations without a completion object.
  LateErrors errors;

  /// Of the messages up to `newest`, the last whose acknowledgement comes by itself.
  std::uint64_t newest_told(std::uint64_t newest) const noexcept {
    return newest == quiet ? quiet - quiet_run : newest;
  }
  void note_quiet(std::uint64_t sequence) noexcept {
    bool const follows = sequence == quiet + 1;
    if (!follows || quiet_run != UINT32_MAX) quiet_run = follows ? quiet_run + 1 : 1;
    quiet = sequence;
  }

  bool may_wait_for_lock() const noexcept {
    return locks.load(std::memory_order_relaxed) && fence > executed.load(std::memory_order_relaxed);
  }
  bool is_joining() const noexcept { return joined != nullptr && joined->message != nullptr; }
  /// An acknowledgement is certain to come.
  bool is_busy() const noexcept {
    return !sent_quiet && executed.load(std::memory_order_relaxed) < newest_sent;
  }

  /// So that a failure that comes later finds out who has to be told.
  void note_forgotten(std::uint32_t context, std::uint64_t sequence) {
    auto const known = std::find_if(forgotten.begin(), forgotten.end(),
                                    [&](auto const& entry) { return entry.first == context; });
    if (known == forgotten.end()) {
      forgotten.emplace_back(context, sequence);
    } else {
      known->second = sequence;
    }
  }
};

/// What only some peers need is made for those: a job may have many processes.
struct PeerState {
  // Under Engine::State::peers_lock.
  std::uint32_t users = 0;  ///< calls of Engine::peer without one of Engine::release
  bool unused = false;      ///< among Engine::State::unused
  // Beside `unused`, where they take no memory.
  bool same_host = false;  ///< its tables and locks are mapped: stripes and segments are at hand
  std::atomic<bool> cross_memory{false};
  bool encrypt = false;  ///< messages to it, and from it, are sealed
  Location location;
  Channel* channel = nullptr;                   ///< through which it is reached
  UnannouncedRdma* unannounced_rdma = nullptr;  ///< of this channel
  Secret secret{};                              ///< admits to it
  std::unique_ptr<RemoteSegments> segments;     ///< of a peer with same_host
  MessageStream messages;
  TrafficCounters traffic;

  /// What the rdma path has under way; an empty one for a peer that it was never used for.
  RdmaState const& rdma() const noexcept { return rdma_ != nullptr ? *rdma_ : RdmaState::none(); }
  /// nullptr for such a peer.
  RdmaState* rdma_if_any() noexcept { return rdma_.get(); }
  RdmaState& make_rdma() {
    if (rdma_ == nullptr) rdma_ = std::make_unique<RdmaState>();
    return *rdma_;
  }

 private:
  std::unique_ptr<RdmaState> rdma_;
};

}  // namespace mpixrma::engine
