/// Rate limits: each source may do a number of things in a second. Counts the refusals.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mpixrma::nam {

class TokenBuckets {
 public:
  using Clock = std::chrono::steady_clock;
  struct Refused {
    std::string source;
    std::uint64_t count = 0;
  };
  /// The name under which further sources are counted together once there are too many.
  static constexpr char const* others = "others";

  TokenBuckets(double tokens_per_second, double capacity)
      : tokens_per_second_(tokens_per_second), capacity_(capacity) {}

  /// Takes a token of the source, and returns the number of its refusals since its last token. Without a
  /// token left, counts `counts_for` refusals and returns nothing.
  std::optional<std::uint64_t> take(std::string const& source, Clock::time_point now,
                                    std::uint64_t counts_for = 1) {
    Bucket& bucket = bucket_of(source, now);
    refill(bucket, now);
    if (bucket.left < 1) {
      bucket.refused += counts_for;
      return std::nullopt;
    }
    bucket.left -= 1;
    return std::exchange(bucket.refused, 0);
  }

  /// Counts a refusal.
  void refuse(std::string const& source, Clock::time_point now) { ++bucket_of(source, now).refused; }

  /// Takes a token from each source with refusals and a token left, and returns these refusals.
  std::vector<Refused> take_refused(Clock::time_point now) {
    std::vector<Refused> taken;
    for (auto& [source, bucket] : buckets_) {
      refill(bucket, now);
      if (bucket.refused == 0 || bucket.left < 1) continue;
      bucket.left -= 1;
      taken.push_back({source, std::exchange(bucket.refused, 0)});
    }
    return taken;
  }

 private:
  struct Bucket {
    double left = 0;
    Clock::time_point filled;
    std::uint64_t refused = 0;
  };
  static constexpr std::size_t max_sources = 1024;

  double left_at(Bucket const& bucket, Clock::time_point now) const {
    double const seconds = std::chrono::duration<double>(now - bucket.filled).count();
    return std::min(capacity_, bucket.left + seconds * tokens_per_second_);
  }
  void refill(Bucket& bucket, Clock::time_point now) const {
    bucket.left = left_at(bucket, now);
    bucket.filled = now;
  }

  Bucket& bucket_of(std::string const& source, Clock::time_point now) {
    bool const is_due = now - swept_ >= std::chrono::seconds(1);
    if (is_due && buckets_.size() >= max_sources && !buckets_.contains(source)) {
      swept_ = now;
      std::erase_if(buckets_, [&](auto const& entry) {
        return entry.second.refused == 0 && left_at(entry.second, now) >= capacity_;
      });
    }
    bool const has_room = buckets_.size() < max_sources || buckets_.contains(source);
    return buckets_.try_emplace(has_room ? source : others, Bucket{capacity_, now}).first->second;
  }

  double tokens_per_second_;
  double capacity_;
  std::map<std::string, Bucket> buckets_;
  Clock::time_point swept_{};
};

}  // namespace mpixrma::nam
