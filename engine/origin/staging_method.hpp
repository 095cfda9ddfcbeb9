/// The method by which large requests to a process of this host are staged in shared memory: through the
/// caches, from which the target's processor fetches the data, or by non-temporal stores through memory. For
/// two processors with a common cache the former takes less than half of the time; without one, each line
/// must first be taken from the other processor's cache, which takes up to five times as long. The placement
/// of the processes may change, so both methods are measured.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "engine/net/ring.hpp"

namespace mpixrma::engine {

/// The data that the reply to a staged request contains.
enum class StagedReply : std::uint8_t { status_only, fetched_data };

/// Relaxed throughout, for concurrent threads: a lost measurement is repeated.
class StagingMethodChooser {
 public:
  /// Smaller requests always go through the caches, because reading the clock takes time too.
  static constexpr std::size_t min_bytes = 8 * 1024;

  /// Returns the method for the next request on `bytes` bytes of the target, and counts the request.
  Staging choose(std::size_t bytes, StagedReply reply) noexcept {
    Kind& kind = of(bytes, reply);
    std::uint32_t const number = kind.requests.fetch_add(1, std::memory_order_relaxed);
    if (number < 2 * trial) return number < trial ? Staging::cached : Staging::non_temporal;
    bool const non_temporal = kind.cost(Staging::non_temporal) < kind.cost(Staging::cached);
    std::uint32_t const phase = number % trial_period;
    if (phase == 0) kind.trial_non_temporal.store(!non_temporal, std::memory_order_relaxed);
    bool const chosen =
        phase < trial ? kind.trial_non_temporal.load(std::memory_order_relaxed) : non_temporal;
    return chosen ? Staging::non_temporal : Staging::cached;
  }

  /// Records the time of the request for which `staging` was chosen.
  void note(std::size_t bytes, StagedReply reply, Staging staging, std::chrono::nanoseconds took) noexcept {
    Kind& kind = of(bytes, reply);
    auto const cost = static_cast<std::uint64_t>(took.count()) * cost_unit / bytes;
    auto const noted = static_cast<std::uint32_t>(std::min<std::uint64_t>(cost, UINT32_MAX / 4));
    auto& mean = kind.costs[index_of(staging)];
    std::uint32_t const known = mean.load(std::memory_order_relaxed);
    std::uint32_t const number = kind.requests.load(std::memory_order_relaxed) - 1;
    std::uint32_t const phase = number < 2 * trial ? number % trial : number % trial_period;
    // A method that was not used for a while is slow at first. Caps an outlier at twice the mean: one late
    // poll by the target must not decide.
    bool const replaces_mean = phase <= trial / 2 || known == 0;
    mean.store(replaces_mean ? noted : (known + std::min(noted, 2 * known)) / 2, std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint32_t trial = 4;           ///< consecutive requests that measure one method
  static constexpr std::uint32_t trial_period = 512;  ///< requests between two trials of the slower method
  static constexpr std::uint64_t cost_unit = 64 * 1024;
  static constexpr std::size_t sizes = 7;  ///< by powers of two; all sizes from half a megabyte on share one

  static std::size_t index_of(Staging staging) noexcept { return staging == Staging::non_temporal ? 1 : 0; }

  struct Kind {
    std::atomic<std::uint32_t> requests{0};
    std::array<std::atomic<std::uint32_t>, 2> costs{};  ///< nanoseconds for `cost_unit` bytes
    std::atomic<bool> trial_non_temporal{false};

    std::uint32_t cost(Staging staging) const noexcept {
      return costs[index_of(staging)].load(std::memory_order_relaxed);
    }
  };

  Kind& of(std::size_t bytes, StagedReply reply) noexcept {
    auto const size = static_cast<std::size_t>(std::bit_width(bytes / min_bytes));
    return kinds_[reply == StagedReply::fetched_data ? 1 : 0][std::min(size, sizes) - 1];
  }

  std::array<std::array<Kind, sizes>, 2> kinds_{};
};

}  // namespace mpixrma::engine
