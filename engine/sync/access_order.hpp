/// Order of the loads and stores of operations with OpFlags::ordered on mapped memory.
///
/// Ordered operations become visible in issue order, except that a get may be performed before an earlier
/// store that it does not overlap. So an ordered store is preceded by a release fence, and an ordered load is
/// followed by an acquire fence. x86 keeps that order in hardware, so only the compiler needs a fence there.
/// Operations by other protocols are ordered by the positions of messages, and by waits for acknowledgements
/// and for flushes of UCX puts and gets (engine/runtime/dispatch_order.cpp).
#pragma once

#include <atomic>

namespace mpixrma::engine {

#if defined(__x86_64__)
inline constexpr bool processor_orders_accesses = true;
#else
inline constexpr bool processor_orders_accesses = false;
#endif

/// Called before a store or update of an operation that may be ordered.
inline void order_before_store(bool ordered = true) noexcept {
  if constexpr (processor_orders_accesses) {
    std::atomic_signal_fence(std::memory_order_release);
  } else if (ordered) {
    std::atomic_thread_fence(std::memory_order_release);
  }
}

/// Called after a load or update of an operation that may be ordered.
inline void order_after_load(bool ordered = true) noexcept {
  if constexpr (processor_orders_accesses) {
    std::atomic_signal_fence(std::memory_order_acquire);
  } else if (ordered) {
    std::atomic_thread_fence(std::memory_order_acquire);
  }
}

}  // namespace mpixrma::engine
