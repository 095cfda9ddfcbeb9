/// The waist between the interfaces (MPIX_RMA, ARMCI) and the engine: transfers to a Target, with the
/// direct path inline.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/engine.hpp"
#include "engine/kernel/kernels.hpp"
#include "mpix/comm/communicator.hpp"

namespace mpix {

using engine::Direction;
using engine::Guarantee;
using engine::Layout;
using engine::RemoteAddress;

/// Contiguous put or get by load and store. Returns false, with nothing done, when the memory cannot be
/// reached that way now; then issue() does it. Complete at both sides when it returns true, up to the
/// store fence that complete() makes.
template <Direction direction>
inline bool try_direct(Target& target, void* origin, RemoteAddress address, std::size_t bytes) noexcept {
  static_assert(direction != Direction::accumulate);
  std::byte* const remote = target.peer->reach(address, bytes);
  if (remote == nullptr) return false;
  if constexpr (direction == Direction::put) {
    engine::copy_bytes(remote, static_cast<std::byte const*>(origin), bytes);
    target.note_store();
  } else {
    engine::copy_bytes(static_cast<std::byte*>(origin), remote, bytes);
  }
  return true;
}

/// Starts `transfer` or `rmw` (its context is filled in here) on whatever path serves it.
MPIX_WAIST_API engine::Issued issue(Target& target, engine::Transfer& transfer);
MPIX_WAIST_API engine::Issued issue(Target& target, engine::ReadModifyWrite& rmw);

/// The same, returning when complete at the level that the operation's guarantees ask for.
MPIX_WAIST_API engine::Status issue_and_wait(Target& target, engine::Transfer& transfer);
MPIX_WAIST_API engine::Status issue_and_wait(Target& target, engine::ReadModifyWrite& rmw);

/// Waits until all that was issued through `target` is complete at the target. Returns the first error
/// of an operation that had no request to report it.
MPIX_WAIST_API engine::Status complete(Target& target);

/// complete() for every target of `communicator` that has something outstanding.
MPIX_WAIST_API engine::Status complete_all(Communicator& communicator);

/// Orders all that was issued through `target` before all that is issued later. Never waits.
MPIX_WAIST_API void fence(Target& target) noexcept;

}  // namespace mpix
