/// Order of the loads and stores of operations with Guarantee::ordered on memory that is mapped here.
///
/// Ordered operations become visible in issue order, except that a get may be performed before an earlier store
/// that it does not overlap. So an ordered store has a release fence before it, and an ordered load an acquire
/// fence behind it. x86 keeps that order by itself: there only the compiler has to. What UCX, the kernel or the
/// target's agent does is ordered by messages and their acknowledgements.
#pragma once

#include <atomic>

namespace mpixrma::engine {

#if defined(__x86_64__)
inline constexpr bool processor_orders_accesses = true;
#else
inline constexpr bool processor_orders_accesses = false;
#endif

/// Before a store, or an update, of an operation that may be ordered.
inline void order_before_store(bool ordered) noexcept {
  if constexpr (processor_orders_accesses) {
    std::atomic_signal_fence(std::memory_order_release);
  } else if (ordered) {
    std::atomic_thread_fence(std::memory_order_release);
  }
}

/// Behind a load, or an update, of an operation that may be ordered.
inline void order_after_load(bool ordered) noexcept {
  if constexpr (processor_orders_accesses) {
    std::atomic_signal_fence(std::memory_order_acquire);
  } else if (ordered) {
    std::atomic_thread_fence(std::memory_order_acquire);
  }
}

}  // namespace mpixrma::engine
