/// How large requests to a process of this host are staged in memory that both share: through the caches,
/// from which the target's processor fetches them, or past them into memory. Two processors that have a cache
/// in common do the first in a third of the time; of two that have none each line is taken away from the
/// other one first, which takes five times as long. Where the processes run may change: both are measured.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace mpix::engine {

/// Relaxed throughout, by several threads at once: what goes astray is measured again.
class StagingPace {
 public:
  /// Smaller requests go through the caches; to look at the clock would take its time, too.
  static constexpr std::size_t least_bytes = 8 * 1024;

  /// For the next request of `bytes` bytes each way.
  bool past_caches(std::size_t bytes, bool fetches) noexcept {
    Kind& kind = of(bytes, fetches);
    std::uint32_t const number = kind.requests.fetch_add(1, std::memory_order_relaxed);
    if (number < 2 * trial) return number >= trial;
    bool const better = kind.cost(true) < kind.cost(false);
    return (number % between_trials < trial) != better;
  }

  void note(std::size_t bytes, bool fetches, bool past_caches, std::chrono::nanoseconds took) noexcept {
    Kind& kind = of(bytes, fetches);
    auto const cost = static_cast<std::uint64_t>(took.count()) * cost_unit / bytes;
    auto const noted = static_cast<std::uint32_t>(std::min<std::uint64_t>(cost, UINT32_MAX / 4));
    auto& mean = kind.costs[past_caches ? 1 : 0];
    std::uint32_t const known = mean.load(std::memory_order_relaxed);
    std::uint32_t const number = kind.requests.load(std::memory_order_relaxed) - 1;
    std::uint32_t const place = number < 2 * trial ? number % trial : number % between_trials;
    // What was not used for a while is slow at first.
    mean.store(place <= trial / 2 ? noted : (known + noted) / 2, std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint32_t trial = 4;             ///< requests on end that go one way to measure it
  static constexpr std::uint32_t between_trials = 512;  ///< of what was slower; with the trial
  static constexpr std::uint64_t cost_unit = 64 * 1024;
  static constexpr std::size_t sizes = 7;  ///< by powers of two: beyond half a megabyte they are alike

  struct Kind {
    std::atomic<std::uint32_t> requests{0};
    std::array<std::atomic<std::uint32_t>, 2> costs{};  ///< nanoseconds for `cost_unit` bytes

    std::uint32_t cost(bool past_caches) const noexcept {
      return costs[past_caches ? 1 : 0].load(std::memory_order_relaxed);
    }
  };

  Kind& of(std::size_t bytes, bool fetches) noexcept {
    auto const size = static_cast<std::size_t>(std::bit_width(bytes / least_bytes));
    return kinds_[fetches ? 1 : 0][std::min(size, sizes) - 1];
  }

  std::array<std::array<Kind, sizes>, 2> kinds_{};
};

}  // namespace mpix::engine
