/// The notification counters of this process for a window.
#pragma once

#include <cstdint>

#include "engine/runtime/engine.hpp"

namespace mpixrma::windows {

/// Limits of the number of notification counters of a process: up to `suggested`, operations are not slowed
/// down.
struct CounterBounds {
  int suggested;
  int max;
};

struct NotificationCounters {
  std::uint64_t* base = nullptr;
  int count = 0;
  std::uint64_t round = 0;  ///< number of calls that have set the counters

  /// Returns nullptr if the counter does not exist.
  std::uint64_t* find(int index) const noexcept {
    return index >= 0 && index < count ? base + index : nullptr;
  }
  void release(engine::Engine& engine);
};

}  // namespace mpixrma::windows
