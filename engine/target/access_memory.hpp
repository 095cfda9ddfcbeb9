/// Executor: accesses to memory of this process at addresses from other processes.
#pragma once

#include "engine/base/access.hpp"
#include "engine/base/status.hpp"
#include "engine/memory/fault_guard.hpp"
#include "engine/memory/memory_map.hpp"
#include "engine/net/wire.hpp"

namespace mpixrma::engine {

/// Returns the access of a request to its memory.
inline Access access_of(wire::RequestHeader const& header) noexcept {
  return wire::is_write(header) ? Access::write : Access::read;
}

/// Calls work(), which accesses memory in `accessed`. If the memory was unmapped or protected since it was
/// exposed or probed, the access fails, and its effects so far remain. Must be called after admit_faults().
template <typename Work>
Status access_memory(FaultRange accessed, Access access, Work&& work) noexcept {
  auto const fault = run_guarded(accessed, work);
  return fault ? reason_for_fault(reinterpret_cast<void const*>(*fault), 1, access) : Status::ok;
}

}  // namespace mpixrma::engine
