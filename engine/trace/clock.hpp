/// The clock of a trace's records: read by a few instructions, converted to real time with the trace.
#pragma once

#include <cstdint>

namespace mpixrma::engine {

/// A simultaneous reading of both clocks.
struct TraceTime {
  std::uint64_t ticks;  ///< of TraceClock
  std::uint64_t real;   ///< nanoseconds of CLOCK_REALTIME
};

/// Counts ticks of the processor's time-stamp counter if its rate is constant in all states of the processor,
/// else nanoseconds of CLOCK_MONOTONIC. All processes of a host read the same ticks.
class TraceClock {
 public:
  TraceClock() noexcept : counts_cycles_(has_constant_rate()) {}

  /// Never less than an earlier reading by the same thread.
  std::uint64_t now() const noexcept {
#if defined(__x86_64__)
    if (counts_cycles_) [[likely]] {
      // Earlier instructions complete before the counter is read, so that a thread's calls do not overlap.
      __builtin_ia32_lfence();
      return __builtin_ia32_rdtsc();
    }
#endif
    return monotonic();
  }

  TraceTime read_both() const noexcept;

 private:
  static bool has_constant_rate() noexcept;
  static std::uint64_t monotonic() noexcept;

  bool counts_cycles_;
};

/// Converts ticks to nanoseconds of the real time. All processes of a host need the same conversion, or their
/// records would be shifted against each other.
class TickConversion {
 public:
  TickConversion() = default;
  TickConversion(TraceTime first, TraceTime last) noexcept : first_(first), last_(last) {
    if (last.ticks <= first.ticks || last.real <= first.real) return;
    // Rounded up, so that the ticks of the last reading convert to its real time exactly.
    auto const scaled = static_cast<unsigned __int128>(last.real - first.real) << fraction_bits;
    nanoseconds_per_tick_ = static_cast<std::int64_t>((scaled + ticks() - 1) / ticks());
  }

  /// Number of ticks between the two readings: a conversion with more of them is more accurate.
  std::uint64_t ticks() const noexcept { return last_.ticks - first_.ticks; }

  std::uint64_t operator()(std::uint64_t ticks) const noexcept {
    auto const after = static_cast<__int128>(static_cast<std::int64_t>(ticks - first_.ticks));
    return first_.real + static_cast<std::uint64_t>(after * nanoseconds_per_tick_ >> fraction_bits);
  }

 private:
  static constexpr int fraction_bits = 56;  ///< for ticks of up to 127 ns

  TraceTime first_{};
  TraceTime last_{};
  std::int64_t nanoseconds_per_tick_ = std::int64_t{1} << fraction_bits;  ///< fixed point
};

}  // namespace mpixrma::engine
