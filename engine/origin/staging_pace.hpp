/// How large requests to a process of this host are staged in memory that both share: through the caches,
/// from which the target's processor fetches them, or past them through memory. Two processors that have a
/// cache in common do the first in less than half of the time; between two that have none each line is taken
/// away from the other one first, which takes up to five times as long. Where the processes run may change:
/// both are measured.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "engine/net/mailbox.hpp"

namespace mpixrma::engine {

/// Relaxed throughout, by several threads at once: what goes astray is measured again.
class StagingPace {
 public:
  /// Smaller requests go through the caches; to look at the clock would take its time, too.
  static constexpr std::size_t least_bytes = 8 * 1024;

  /// For the next request of `bytes` bytes each way, which counts.
  Staging choose(std::size_t bytes, bool fetches) noexcept {
    Kind& kind = of(bytes, fetches);
    std::uint32_t const number = kind.requests.fetch_add(1, std::memory_order_relaxed);
    if (number < 2 * trial) return number < trial ? Staging::cached : Staging::past_caches;
    bool const past_caches = kind.cost(Staging::past_caches) < kind.cost(Staging::cached);
    std::uint32_t const place = number % trial_period;
    if (place == 0) kind.tries_past_caches.store(!past_caches, std::memory_order_relaxed);
    bool const chosen = place < trial ? kind.tries_past_caches.load(std::memory_order_relaxed) : past_caches;
    return chosen ? Staging::past_caches : Staging::cached;
  }

  /// What the request took that was chosen last.
  void note(std::size_t bytes, bool fetches, Staging staging, std::chrono::nanoseconds took) noexcept {
    Kind& kind = of(bytes, fetches);
    auto const cost = static_cast<std::uint64_t>(took.count()) * cost_unit / bytes;
    auto const noted = static_cast<std::uint32_t>(std::min<std::uint64_t>(cost, UINT32_MAX / 4));
    auto& mean = kind.costs[place_of(staging)];
    std::uint32_t const known = mean.load(std::memory_order_relaxed);
    std::uint32_t const number = kind.requests.load(std::memory_order_relaxed) - 1;
    std::uint32_t const place = number < 2 * trial ? number % trial : number % trial_period;
    // What was not used for a while is slow at first. That a target looks late, once, says little.
    bool const begins = place <= trial / 2 || known == 0;
    mean.store(begins ? noted : (known + std::min(noted, 2 * known)) / 2, std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint32_t trial = 4;           ///< requests on end that go one way to measure it
  static constexpr std::uint32_t trial_period = 512;  ///< of what was slower: requests from trial to trial
  static constexpr std::uint64_t cost_unit = 64 * 1024;
  static constexpr std::size_t sizes = 7;  ///< by powers of two: beyond half a megabyte they are alike

  static std::size_t place_of(Staging staging) noexcept { return staging == Staging::past_caches ? 1 : 0; }

  struct Kind {
    std::atomic<std::uint32_t> requests{0};
    std::array<std::atomic<std::uint32_t>, 2> costs{};  ///< nanoseconds for `cost_unit` bytes
    std::atomic<bool> tries_past_caches{false};

    std::uint32_t cost(Staging staging) const noexcept {
      return costs[place_of(staging)].load(std::memory_order_relaxed);
    }
  };

  Kind& of(std::size_t bytes, bool fetches) noexcept {
    auto const size = static_cast<std::size_t>(std::bit_width(bytes / least_bytes));
    return kinds_[fetches ? 1 : 0][std::min(size, sizes) - 1];
  }

  std::array<std::array<Kind, sizes>, 2> kinds_{};
};

}  // namespace mpixrma::engine
