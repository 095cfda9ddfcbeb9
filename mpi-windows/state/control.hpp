/// Where processes tell each other that they have come to a point. Nothing but counters that go up: whoever
/// waits knows how far they have to come.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace mpixrma::windows {

using Counter = std::atomic<std::uint64_t>;
using PostCounter = std::atomic<std::uint8_t>;

/// In a counter of arrivals, above them: who arrived objects.
inline constexpr std::uint64_t objection_mark = std::uint64_t{1} << 48;

/// Rounds of a barrier of `ranks` processes by dissemination.
constexpr unsigned barrier_rounds(int ranks) noexcept {
  return static_cast<unsigned>(std::bit_width(static_cast<unsigned>(ranks) - 1));
}

/// What stands in a process's control memory, and how long it is. Offsets in bytes; what different processes
/// write has cache lines of its own.
struct ControlLayout {
  static constexpr std::size_t line = 64;
  static constexpr std::uint64_t no_table = 1;

  int ranks;

  constexpr std::size_t arrival(unsigned round) const noexcept { return line * round; }
  /// Of origins whose access epochs have ended.
  constexpr std::size_t completed() const noexcept { return line * barrier_rounds(ranks); }
  /// Address of the rank table that the processes of the host share; `no_table`: there is none.
  constexpr std::size_t table() const noexcept { return completed() + sizeof(std::uint64_t); }
  /// Address of the process's notification counters, and behind it their number.
  constexpr std::size_t notifications() const noexcept { return table() + sizeof(std::uint64_t); }
  /// Of exposure epochs of a rank that this process may access; modulo 256.
  constexpr std::size_t posted(int rank) const noexcept {
    return completed() + line + static_cast<std::size_t>(rank);
  }
  constexpr std::size_t bytes() const noexcept { return posted(ranks); }
};

}  // namespace mpixrma::windows
