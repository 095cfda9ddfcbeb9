/// Locks that processes hold: the description of a lock request.
///
/// A lock belongs to the process that has created it, its target. It is held by owners: an origin process,
/// and a number that distinguishes the owners within it (threads, windows). A request for a lock that is not
/// free waits in a FIFO queue at the target; holders of a shared lock have it together. A request for a
/// shared lock by a process that holds other locks may pass exclusive requests, because those could be
/// waiting, directly or indirectly, for the held locks. Logical times decide which requests it may pass
/// (docs/decisions/0010-queued-locks.md).
#pragma once

#include <cstdint>

#include "engine/op/operation.hpp"

namespace mpixrma::engine {

/// Number of a lock at its target, from 0 on.
using LockId = std::uint32_t;

enum class LockMode : std::uint8_t { exclusive, shared };

/// A logical time, which orders exclusive requests and holders of all locks; 0 precedes all.
using LockTime = std::uint64_t;

/// Upper bound of owner numbers within a process.
inline constexpr std::uint32_t max_lock_owners = std::uint32_t{1} << 24;

struct LockRequest {
  LockId lock = 0;
  LockMode mode = LockMode::exclusive;
  std::uint32_t owner = 0;           ///< below max_lock_owners
  bool attempt = false;              ///< return Status::busy instead of waiting in the queue
  Completion* completion = nullptr;  ///< not null
  bool overtakes = false;      ///< shared, not an attempt: passes exclusive requests not earlier than `time`
  bool skips_pending = false;  ///< acquire() does not wait for an earlier request that is in a stream
  LockTime time = 0;           ///< no exclusive request that waits for the process's locks is earlier
};

}  // namespace mpixrma::engine
