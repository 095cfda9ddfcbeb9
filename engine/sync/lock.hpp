/// Locks that processes hold: what callers of the engine say about them.
///
/// A lock lives with the process that has created it, its target. It is held by owners: an origin process,
/// and a number by which that tells its own apart (threads, windows). Whoever asks for a lock that is not
/// free waits in a queue at the target, in the order of arrival; those who share it have it together. A
/// request for a share by a process that holds other locks may pass exclusive requests: they could be
/// waiting, by way of others, for these locks. Logical times decide which ones
/// (docs/decisions/0010-queued-locks.md).
#pragma once

#include <cstdint>

#include "engine/op/operation.hpp"

namespace mpixrma::engine {

/// Number of a lock at its target, from 0 on.
using LockId = std::uint32_t;

enum class LockMode : std::uint8_t { exclusive, shared };

/// A logical time, which orders exclusive requests and holders of all locks; 0 comes before all.
using LockTime = std::uint64_t;

/// Numbers of owners within a process end here.
inline constexpr std::uint32_t max_lock_owners = std::uint32_t{1} << 24;

struct LockRequest {
  LockId lock = 0;
  LockMode mode = LockMode::exclusive;
  std::uint32_t owner = 0;           ///< below max_lock_owners
  bool attempt = false;              ///< Status::busy instead of a place in the queue
  Completion* completion = nullptr;  ///< not null
  bool overtakes = false;  ///< shared, not an attempt: passes exclusive requests that are not earlier
  LockTime time = 0;       ///< no request that waits for the process's locks may be earlier
};

}  // namespace mpixrma::engine
