/// Control memory, in which processes signal that they have reached a point. The signals are monotonic
/// counters, so a waiting process knows the value to wait for.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace mpixrma::windows {

using Counter = std::atomic<std::uint64_t>;
using PostCounter = std::atomic<std::uint8_t>;

/// Flag in a counter of arrivals, above the bits of the count: an arriving process has failed.
inline constexpr std::uint64_t failure_mark = std::uint64_t{1} << 48;

/// Rounds of a dissemination barrier of `ranks` processes.
constexpr unsigned barrier_rounds(int ranks) noexcept {
  return static_cast<unsigned>(std::bit_width(static_cast<unsigned>(ranks) - 1));
}

/// The layout of a process's control memory. Offsets are in bytes; each counter of arrivals has its own cache
/// line, because a different process raises each.
struct ControlLayout {
  static constexpr std::size_t line = 64;
  static constexpr std::uint64_t no_table = 1;

  int ranks;

  constexpr std::size_t arrival(unsigned round) const noexcept { return line * round; }
  /// Number of origins whose access epochs have ended.
  constexpr std::size_t completed() const noexcept { return line * barrier_rounds(ranks); }
  /// Address of the rank table that the processes of the host share; `no_table` if there is none.
  constexpr std::size_t table() const noexcept { return completed() + sizeof(std::uint64_t); }
  /// Address of the process's notification counters, followed by their number.
  constexpr std::size_t notifications() const noexcept { return table() + sizeof(std::uint64_t); }
  /// Number of exposure epochs that `rank` has opened for accesses by this process, modulo 256.
  constexpr std::size_t posted(int rank) const noexcept {
    return completed() + line + static_cast<std::size_t>(rank);
  }
  constexpr std::size_t bytes() const noexcept { return posted(ranks); }
};

/// The control memory of this process.
struct ControlMemory {
  ControlLayout layout{1};
  std::byte* base = nullptr;
  std::uint64_t barriers = 0;  ///< number of barriers so far
  /// Some process raises the counters by messages, which this process has to receive. Relaxed: a hint.
  std::atomic<bool> by_messages{false};

  Counter& counter(std::size_t offset) const noexcept { return *reinterpret_cast<Counter*>(base + offset); }
};

}  // namespace mpixrma::windows
