/// Constants of a window's epochs and counters.
#pragma once

#include <cstdint>

namespace mpixrma::windows {

/// The kind of the access epoch. A fence that announces operations does not open an epoch by itself; the
/// first operation does.
enum class Epoch : std::uint8_t { none, fence, group, locks, lock_all };

/// Whether the epoch is one of passive targets.
constexpr bool is_passive(Epoch epoch) noexcept { return epoch == Epoch::locks || epoch == Epoch::lock_all; }

/// Limits of the number of notification counters of a process: up to `suggested`, operations are not slowed
/// down.
struct CounterBounds {
  int suggested;
  int most;
};

/// A process holds the lock of a window and a target at most once at a time.
inline constexpr std::uint32_t lock_owner = 1;

}  // namespace mpixrma::windows
