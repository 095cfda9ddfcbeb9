/// The stripes that requests of other processes hold while they are executed. Under the channel's lock.
#pragma once

#include <utility>

#include "engine/base/backoff.hpp"
#include "engine/memory/segment_table.hpp"
#include "engine/net/wire.hpp"
#include "engine/sync/stripes.hpp"
#include "engine/target/requested_memory.hpp"

namespace mpixrma::engine {

/// Acquires the stripes of requests, and caches those of one request of a batch for the next one.
class RequestStripeCache {
 public:
  /// Within this scope, the stripes of a request stay acquired after its execution.
  class Scope {
   public:
    explicit Scope(RequestStripeCache& stripes) noexcept : stripes_(stripes) { stripes_.open_ = true; }
    ~Scope() {
      stripes_.open_ = false;
      stripes_.release();
    }
    Scope(Scope const&) = delete;
    Scope& operator=(Scope const&) = delete;

   private:
    RequestStripeCache& stripes_;
  };

  /// `segments` must not change while a request is handled.
  explicit RequestStripeCache(SegmentTable const& segments) noexcept : segments_(segments) {}

  /// Returns the stripes that must be held while the request is executed.
  StripeSets required_by(wire::CheckedRequest const& request) const noexcept {
    return stripes_for(request, segments_.stripes().modes);
  }
  /// Returns an unlocked lock of these stripes.
  UniqueStripeLock make_lock(StripeSets const& wanted) const noexcept {
    return {segments_.stripes(), wanted};
  }
  /// Returns true if all stripes are acquired.
  static bool try_acquire_spin(UniqueStripeLock& lock) noexcept {
    constexpr int short_spins = 64;
    for (int spins = 0; spins < short_spins; ++spins) {
      if (lock.acquire()) return true;
      cpu_relax();
    }
    return false;
  }

  /// Whether the cache holds stripes of an earlier request.
  bool is_filled() const noexcept { return !held_.empty(); }
  bool covers(StripeSets const& wanted) const noexcept {
    StripeSet const any = held_.exclusive | held_.shared;
    return (wanted.exclusive & ~held_.exclusive) == 0 && (wanted.shared & ~any) == 0;
  }
  /// Moves the stripes in `lock` into the cache within a Scope; else does nothing.
  void store(StripeSets const& stripes, UniqueStripeLock& lock) noexcept {
    if (!open_) return;
    lock_ = std::move(lock);
    held_ = stripes;
  }
  void release() noexcept {
    lock_.release();
    held_ = {};
  }

 private:
  SegmentTable const& segments_;
  bool open_ = false;
  StripeSets held_;
  UniqueStripeLock lock_;
};

}  // namespace mpixrma::engine
