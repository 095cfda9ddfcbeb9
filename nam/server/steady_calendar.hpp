/// Seconds since 1970 that only go on as time passes, whatever is done to the machine's clock meanwhile.
#pragma once

#include <cstdint>
#include <ctime>

namespace mpix::nam {

class SteadyCalendar {
 public:
  SteadyCalendar() : offset_(read(CLOCK_REALTIME) - read(CLOCK_BOOTTIME)) {}
  std::int64_t now() const { return offset_ + read(CLOCK_BOOTTIME); }

 private:
  static std::int64_t read(clockid_t clock) {
    timespec time{};
    ::clock_gettime(clock, &time);
    return time.tv_sec;
  }

  std::int64_t offset_;
};

}  // namespace mpix::nam
