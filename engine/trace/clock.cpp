#include "engine/trace/clock.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <ctime>

namespace mpixrma::engine {

namespace {

std::uint64_t nanoseconds(clockid_t clock) noexcept {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace

bool TraceClock::has_constant_rate() noexcept {
#if defined(__x86_64__)
  constexpr unsigned power_management = 0x8000'0007;
  constexpr unsigned invariant_counter = 1U << 8;  // of EDX
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid(power_management, &eax, &ebx, &ecx, &edx) != 0 && (edx & invariant_counter) != 0;
#else
  return false;
#endif
}

std::uint64_t TraceClock::monotonic() noexcept { return nanoseconds(CLOCK_MONOTONIC); }

TraceTime TraceClock::read_both() const noexcept {
  // The shortest of a few readings: the thread may be preempted between the two clocks.
  constexpr int readings = 5;
  TraceTime best{};
  std::uint64_t shortest = UINT64_MAX;
  for (int i = 0; i < readings; ++i) {
    std::uint64_t const before = now();
    std::uint64_t const real = nanoseconds(CLOCK_REALTIME);
    std::uint64_t const between = now() - before;
    if (between >= shortest) continue;
    shortest = between;
    best = {before + between / 2, real};
  }
  return best;
}

}  // namespace mpixrma::engine
