/// A clock that needs no system call and is accurate to some milliseconds.
#pragma once

#include <time.h>

#include <chrono>

namespace mpixrma::engine {

inline std::chrono::nanoseconds coarse_now() noexcept {
  timespec time{};
  (void)::clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace mpixrma::engine
