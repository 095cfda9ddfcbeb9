/// Executor: accesses to memory of this process at addresses from other processes.
#pragma once

#include "engine/base/status.hpp"
#include "engine/memory/fault_guard.hpp"
#include "engine/memory/memory_map.hpp"

namespace mpixrma::engine {

/// Calls access(), which accesses memory in `accessed`. If the memory was unmapped or protected since it was
/// exposed or probed, the access fails, and its effects so far remain. Must be called after admit_faults().
template <typename Access>
Status access_memory(FaultRange accessed, bool write, Access&& access) noexcept {
  auto const fault = run_guarded(accessed, access);
  return fault ? reason_for_fault(reinterpret_cast<void const*>(*fault), 1, write) : Status::ok;
}

}  // namespace mpixrma::engine
