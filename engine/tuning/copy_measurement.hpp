/// Measures which copy method is the fastest on this host.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "engine/op/kernel/copy_methods.hpp"

namespace mpixrma::engine {

/// Size classes that a job measures; `mpix-rma tune` measures all.
inline constexpr std::size_t copy_sizes_of_job = 5;

/// Times of a copy by each method, one for each round. No times: the method is not available. Fewer times
/// than for others: the method took more than twice as long as another one, and was not tried again.
using CopyTimes = std::array<std::vector<double>, copy_method_count>;

/// Returns the method with the least minimum, but the C library if its minimum is at most 3 % longer. Returns
/// none if the times of either are inconclusive: their median is more than 10 % above their minimum.
std::optional<CopyMethod> fastest_copy_method(CopyTimes const& times);

/// The memory in which copies are measured, and bounds of the time for it.
struct CopyMeasurement {
  std::byte* target;                      ///< begins at a page, copy_measurement_bytes() long
  std::byte* origin;                      ///< likewise
  std::size_t sizes = copy_sizes_of_job;  ///< size classes to measure
  std::chrono::nanoseconds budget;        ///< CPU time of this thread for all
  std::function<bool()> stops;            ///< called between measurements: whether to end early
  /// Called before each copy of at least 64 KiB, untimed; may be empty. Not called for smaller copies, of
  /// which many are timed together.
  std::function<void(std::size_t bytes)> before;
};

/// Returns the size of each of `target` and `origin` for measuring the first `sizes` size classes.
std::size_t copy_measurement_bytes(std::size_t sizes) noexcept;

/// Measures decisions that neither `table` nor `fixed` has, small sizes first, and adds to `table` what was
/// found.
void measure_copies(CopyMeasurement const& measurement, CopyTable const& fixed, CopyTable& table);

/// Whether `table` or `fixed` has all decisions about the first `sizes` size classes.
bool is_complete(CopyTable const& fixed, CopyTable const& table, std::size_t sizes) noexcept;

/// As measure_copies(), in memory of its own, within the time that a job may spend: at most 2 ms. The result
/// of `stops` may be set by another thread. Returns false if there is no memory.
bool measure_copies_briefly(CopyTable const& fixed, CopyTable& table, std::function<bool()> stops);

}  // namespace mpixrma::engine
