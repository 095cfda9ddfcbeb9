/// The memory of this process that a request accesses: the check of the access, and the access itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/memory/fault_guard.hpp"
#include "engine/memory/segment_table.hpp"
#include "engine/net/request_run.hpp"
#include "engine/net/wire.hpp"
#include "engine/proto/remainder.hpp"
#include "engine/sync/stripes.hpp"

namespace mpixrma::engine {

/// The memory that requests may access.
enum class Accessible { whole_process, exposures };

class RequestedMemory {
 public:
  /// `segments` must not change during a call.
  RequestedMemory(SegmentTable const& segments, Accessible accessible) noexcept
      : segments_(segments), exposed_only_(accessible == Accessible::exposures) {}

  /// Replaces exposures and offsets by addresses; a rejected request keeps its offset.
  Status resolve(wire::CheckedRequest& request) const;
  /// Returns the base that resolve() has added to the address of a request that it has accepted.
  std::uint64_t exposed_base(wire::RequestHeader const& header) const noexcept;
  /// Whether memory for a counter was allocated here. Counters that are named by an exposure were checked by
  /// resolve().
  bool has_counter(RemoteAddress counter) const;

  /// Whether the memory of a resolved request exists. `*accessed` receives its addresses.
  Status find(wire::CheckedRequest const& request, FaultRange* accessed) const;
  /// Returns the memory of a get for which find() has succeeded, if it is one range of memory that this
  /// library has allocated, which stays valid; an empty range otherwise.
  std::span<std::byte const> allocated_range(wire::CheckedRequest const& request) const noexcept;
  /// Executes a part of the data of a put, get or update for which find() has succeeded, with the stripes
  /// that stripes_for() requires. `fetched` receives what a fetching request asks for; nullptr for all
  /// others.
  Status execute_part(wire::CheckedRequest const& request, FaultRange accessed, DataRange part,
                      std::byte* fetched) const noexcept;

  /// The memory of the first requests of a run: those that lie in one segment and need no probe.
  struct RunMemory {
    std::size_t count = 0;   ///< of requests
    RemoteAddress base = 0;  ///< to be added to their addresses
    FaultRange accessed;     ///< of all of them
  };
  RunMemory find_run(wire::RequestRun const& run) const noexcept;
  /// As execute_part() for a whole put or update that fetches nothing, within access_memory().
  void execute_unguarded(wire::CheckedRequest const& request) const noexcept;

 private:
  Status check_first_run(wire::CheckedRequest const& request) const noexcept;
  void update(wire::CheckedRequest const& request, FaultRange accessed, DataRange part,
              std::byte* fetched) const noexcept;

  SegmentTable const& segments_;
  bool exposed_only_;
};

/// Returns the stripes that must be held while the request is executed on memory with these modes; none if
/// they are held already.
StripeSets stripes_for(wire::CheckedRequest const& request, UpdateModes const& modes) noexcept;

/// Computes the range of target addresses that the request accesses, [begin, end). Returns false if it wraps
/// around.
bool touched_range(wire::CheckedRequest const& request, RemoteAddress* begin, RemoteAddress* end) noexcept;

}  // namespace mpixrma::engine
