/// Memory of peers: its segments, and those that this process can access by load and store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/visibility.h"
#include "engine/op/exposure.hpp"
#include "engine/op/late_error.hpp"
#include "engine/op/operation.hpp"
#include "engine/origin/peer.hpp"
#include "engine/runtime/order.hpp"
#include "engine/runtime/peers.hpp"

namespace mpixrma::engine {

struct ExposedView;
namespace wire {
struct SegmentReply;
}  // namespace wire

/// Returns a text such as "a put" or "an accumulate".
MPIX_ENGINE_API char const* name_of(ReportedOperation kind) noexcept;

/// Memory that peers can access as a segment.
struct SegmentInfo {
  RemoteAddress base;
  std::size_t length;     ///< in bytes
  bool internal = false;  ///< state of the library, not memory of the program
};

class MPIX_ENGINE_API EnginePeerMemory {
 public:
  EnginePeerMemory(EngineState& state, EnginePeers& peers, EngineOrder& order) noexcept
      : state_(state), peers_(peers), order_(order) {}

  /// Returns a local pointer to the `bytes` bytes at `address` of `peer`, mapping them if necessary; nullptr
  /// if they are not accessible by load and store. Valid until the peer frees the memory.
  std::byte* map(Peer& peer, RemoteAddress address, std::size_t bytes);
  /// For an operation that is issued: as map() of [begin, begin + bytes) of a peer on this host, without a
  /// wait. `*refused` is set to bad_address or overrun if the range overlaps the peer's regions but is not in
  /// one segment.
  std::byte* map_range(Peer& peer, RemoteAddress begin, std::size_t bytes, Status* refused);
  /// Maps an exposure of a peer on this host. stale_exposure: it does not exist; unsupported: not accessible
  /// by load and store; then view->exposure is set if the exposure exists.
  Status view(Peer& peer, ExposureId id, ExposedView* view);
  /// Unmaps regions that their owners have freed. Local; called when a group frees memory.
  void drop_stale_mappings();

  /// Returns the segment of `peer` that contains `address`; bad_address if there is none. May query the
  /// peer's agent.
  Status find_segment(Peer& peer, RemoteAddress address, SegmentInfo* info);
  /// Returns the segments of `peer`, sorted by address. Those that come and go meanwhile may be missing. Asks
  /// the peer's agent for one segment after another if the peer shares no memory with this process.
  Status list_segments(Peer& peer, std::vector<SegmentInfo>* out);

  /// Returns an error text for an operation on `memory` of `process` that has ended with `status`. The text
  /// says how much of the memory lies within an allocation, if only a part does. May query the peer's agent
  /// and wait for its reply; call it without locks. `memory` has no exposure.
  std::string reason(std::uint64_t process, Status status, TargetMemory const& memory);

 private:
  Status ask_for_segment(Peer& peer, RemoteAddress address, wire::SegmentReply* reply);

  EngineState& state_;
  EnginePeers& peers_;
  EngineOrder& order_;
};

}  // namespace mpixrma::engine
