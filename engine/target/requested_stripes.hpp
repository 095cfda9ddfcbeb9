/// The stripes of this process that requests are executed with. Under the channel's lock.
#pragma once

#include <utility>

#include "engine/base/backoff.hpp"
#include "engine/memory/segment_table.hpp"
#include "engine/net/wire.hpp"
#include "engine/sync/stripes.hpp"
#include "engine/target/requested_memory.hpp"

namespace mpixrma::engine {

/// The stripes that requests are executed with, and a cache of those that one request of a batch passes on to
/// the next one.
class RequestedStripes {
 public:
  /// Within this scope, requests may leave their stripes.
  class Scope {
   public:
    explicit Scope(RequestedStripes& stripes) noexcept : stripes_(stripes) { stripes_.open_ = true; }
    ~Scope() {
      stripes_.open_ = false;
      stripes_.release();
    }
    Scope(Scope const&) = delete;
    Scope& operator=(Scope const&) = delete;

   private:
    RequestedStripes& stripes_;
  };

  /// `segments` must not change while a request is handled.
  explicit RequestedStripes(SegmentTable const& segments) noexcept : segments_(segments) {}

  /// Returns the stripes that must be held while the request is executed.
  StripeSets needed_by(wire::CheckedRequest const& request) const noexcept {
    return stripes_for(request, segments_.stripes().modes);
  }
  /// Returns the hold of these stripes, which are not acquired yet.
  StripeHold hold(StripeSets const& wanted) const noexcept { return {segments_.stripes(), wanted}; }
  /// Returns true if all stripes of the hold are acquired.
  static bool try_acquire_spin(StripeHold& hold) noexcept {
    constexpr int short_spins = 64;
    for (int spins = 0; spins < short_spins; ++spins) {
      if (hold.acquire()) return true;
      cpu_relax();
    }
    return false;
  }

  /// Whether stripes of the request before are held.
  bool holds() const noexcept { return !held_.empty(); }
  bool covers(StripeSets const& wanted) const noexcept {
    StripeSet const any = held_.exclusive | held_.shared;
    return (wanted.exclusive & ~held_.exclusive) == 0 && (wanted.shared & ~any) == 0;
  }
  /// Takes over the stripes in `hold` if possible.
  void offer(StripeSets const& stripes, StripeHold& hold) noexcept {
    if (!open_) return;
    hold_ = std::move(hold);
    held_ = stripes;
  }
  void release() noexcept {
    hold_.release();
    held_ = {};
  }

 private:
  SegmentTable const& segments_;
  bool open_ = false;
  StripeSets held_;
  StripeHold hold_;
};

}  // namespace mpixrma::engine
