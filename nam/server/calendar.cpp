#include "nam/server/calendar.hpp"

#include <cstdlib>
#include <ctime>

namespace mpixrma::nam {

namespace {

constexpr std::int64_t smallest_jump = 3;  ///< seconds

std::int64_t read(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return time.tv_sec;
}

}  // namespace

Calendar::Clocks Calendar::clocks_of_system() {
  return {[] { return read(CLOCK_REALTIME); }, [] { return read(CLOCK_BOOTTIME); }};
}

Calendar::Calendar(Clocks clocks) : clocks_(std::move(clocks)), offset_(clocks_.real() - clocks_.boot()) {}

std::int64_t Calendar::follow() {
  std::int64_t const offset = clocks_.real() - clocks_.boot();
  std::int64_t const change = offset - offset_;
  // The clocks change their seconds at different moments, so the offset varies by one.
  if (std::abs(change) > 1) offset_ = offset;
  return std::abs(change) >= smallest_jump ? change : 0;
}

}  // namespace mpixrma::nam
