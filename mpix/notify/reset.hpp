/// Reset of notification counters while other processes increment them.
#pragma once

#include <cstdint>

#include "engine/runtime/engine.hpp"

namespace mpixrma {

/// Resets the counter to zero and returns its previous value. The value is subtracted after progress, not
/// exchanged: requests that wait for that value complete first, and concurrent increments are kept.
inline std::uint64_t reset_counter(engine::Engine& engine, std::uint64_t& counter) {
  for (;;) {
    // Acquire: pairs with the releases of the processes that notify.
    std::uint64_t const before = __atomic_load_n(&counter, __ATOMIC_ACQUIRE);
    if (before == 0) return 0;
    engine.waits.progress();
    std::uint64_t now = __atomic_load_n(&counter, __ATOMIC_RELAXED);
    while (now >= before) {  // less: another thread has reset it
      if (__atomic_compare_exchange_n(&counter, &now, now - before, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return before;
    }
  }
}

}  // namespace mpixrma
