/// Seconds since 1970, for the expiry of grants. A machine's clock may be wrong at start, and may be set
/// while the server runs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>

namespace mpixrma::nam {

/// Follows the machine's clock, and reports when it has jumped.
class Calendar {
 public:
  /// Sources of time, in seconds.
  struct Clocks {
    std::function<std::int64_t()> real;  ///< since 1970; may jump
    std::function<std::int64_t()> boot;  ///< since the machine was started; never jumps
  };
  static Clocks clocks_of_system();

  explicit Calendar(Clocks clocks = clocks_of_system());

  std::int64_t now() const { return offset_ + clocks_.boot(); }
  /// For spans of time: not affected by changes of the machine's clock.
  std::int64_t uptime() const { return clocks_.boot(); }
  /// Called once a second. Returns the seconds by which the clock was set since the last call; 0 if it runs
  /// as before. Adjustments of a second or two do not count.
  std::int64_t follow();

 private:
  Clocks clocks_;
  std::int64_t offset_;
};

/// The time between the expiry of a grant and its deletion. It passes while the server runs, and begins anew
/// when the clock jumps: a wrong clock deletes nothing before somebody can notice it.
class GracePeriod {
 public:
  /// Called once a second. `expired`: according to the calendar.
  void note(bool expired, std::int64_t uptime) {
    if (!expired) expired_at_.reset();
    if (expired && !expired_at_) expired_at_ = uptime;
  }
  void restart() noexcept { expired_at_.reset(); }
  bool has_begun() const noexcept { return expired_at_.has_value(); }
  /// Seconds until the deletion of an expired grant.
  std::int64_t left(std::int64_t seconds, std::int64_t uptime) const {
    return expired_at_ ? std::max<std::int64_t>(*expired_at_ + seconds - uptime, 0) : seconds;
  }
  bool is_over(std::int64_t seconds, std::int64_t uptime) const {
    return has_begun() && left(seconds, uptime) == 0;
  }

 private:
  std::optional<std::int64_t> expired_at_;  ///< uptime
};

}  // namespace mpixrma::nam
