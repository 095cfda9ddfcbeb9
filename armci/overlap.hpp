/// A test for segments of memory that share a byte.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "engine/op/layout/layout.hpp"

namespace armci {

/// Returns whether two segments overlap if they are in ascending order, where only neighbours can.
bool neighbours_overlap(std::span<mpixrma::engine::LayoutRun const> segments);

/// As overlap(), with the comparison of two segments' begins, whose calls a test counts.
template <typename Before>
bool overlap_in_order(std::span<mpixrma::engine::LayoutRun const> segments, Before before) {
  if (std::is_sorted(segments.begin(), segments.end(), before)) return neighbours_overlap(segments);
  std::vector<mpixrma::engine::LayoutRun> sorted;
  for (auto const& segment : segments)
    if (segment.length != 0) sorted.push_back(segment);
  std::sort(sorted.begin(), sorted.end(), before);
  return neighbours_overlap(sorted);
}

/// Returns whether two of the segments overlap. O(N) for segments in ascending order, else O(N log N).
bool overlap(std::span<mpixrma::engine::LayoutRun const> segments);

}  // namespace armci
