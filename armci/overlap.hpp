/// A test for runs of memory (segments in the terms of ARMCI's vectors) that share a byte.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "engine/op/layout/layout.hpp"

namespace armci {

/// Returns whether two of the runs, which are in ascending order, overlap: then some two neighbours do.
bool any_neighbours_overlap(std::span<mpixrma::engine::LayoutRun const> runs);

/// As overlap(). The comparison of the begins of two runs is an argument, so that a test can count its calls.
template <typename Before>
bool overlap_in_order(std::span<mpixrma::engine::LayoutRun const> runs, Before before) {
  if (std::is_sorted(runs.begin(), runs.end(), before)) return any_neighbours_overlap(runs);
  std::vector<mpixrma::engine::LayoutRun> sorted;
  for (auto const& run : runs)
    if (run.length != 0) sorted.push_back(run);
  std::sort(sorted.begin(), sorted.end(), before);
  return any_neighbours_overlap(sorted);
}

/// Returns whether two of the runs overlap. O(N) for runs in ascending order, else O(N log N).
bool overlap(std::span<mpixrma::engine::LayoutRun const> runs);

}  // namespace armci
