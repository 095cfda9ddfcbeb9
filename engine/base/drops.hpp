/// Counts and logs dropped messages.
#pragma once

#include <bit>
#include <cstdint>

#include "engine/base/log.hpp"

namespace mpixrma::engine {

/// Logs the first drops, then fewer and fewer, so that a faulty or hostile sender cannot fill the log.
class Drops {
 public:
  Drops(char const* kind, Log const& log) noexcept : kind_(kind), log_(log) {}

  void record_drop(char const* reason) noexcept {
    constexpr std::uint64_t all_up_to = 16;
    ++count_;
    if (count_ <= all_up_to || std::has_single_bit(count_))
      log_.write(LogLevel::error, "dropped a %s (%llu so far): %s", kind_,
                 static_cast<unsigned long long>(count_), reason);
  }
  std::uint64_t count() const noexcept { return count_; }

 private:
  char const* kind_;
  Log const& log_;
  std::uint64_t count_ = 0;
};

}  // namespace mpixrma::engine
