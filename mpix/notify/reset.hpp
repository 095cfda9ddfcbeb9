/// Notification counters that are set to zero while others increment them.
#pragma once

#include <cstdint>

#include "engine/runtime/engine.hpp"

namespace mpixrma {

/// What the counter was, and zero from there on. Who waits for as much is told so, and what is counted
/// meanwhile stays: hence it is subtracted, once it has been looked at, and not exchanged.
inline std::uint64_t reset_counter(engine::Engine& engine, std::uint64_t& counter) {
  for (;;) {
    // Acquire: pairs with the releases of those who notify.
    std::uint64_t const before = __atomic_load_n(&counter, __ATOMIC_ACQUIRE);
    if (before == 0) return 0;
    engine.progress();
    std::uint64_t now = __atomic_load_n(&counter, __ATOMIC_RELAXED);
    while (now >= before) {  // less: another thread has set it to zero
      if (__atomic_compare_exchange_n(&counter, &now, now - before, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return before;
    }
  }
}

}  // namespace mpixrma
