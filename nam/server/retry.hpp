/// When failed work is due again: after a delay that doubles with each failure in a row.
#pragma once

#include <algorithm>
#include <chrono>

namespace mpixrma::nam {

class Retry {
 public:
  using Clock = std::chrono::steady_clock;

  bool is_due(Clock::time_point now) const noexcept { return now >= due_; }
  void note_failure(Clock::time_point now) noexcept {
    due_ = now + delay_;
    delay_ = std::min(2 * delay_, longest_delay);
  }
  void note_success() noexcept { *this = {}; }

 private:
  static constexpr std::chrono::seconds longest_delay{60};

  Clock::time_point due_{};
  std::chrono::seconds delay_{1};
};

}  // namespace mpixrma::nam
