/// A test for segments of memory that share a byte.
#pragma once

#include <span>

#include "engine/op/layout/layout.hpp"

namespace armci {

/// Returns whether two of the segments overlap. O(N) for segments in ascending order, else O(N log N).
bool overlap(std::span<mpixrma::engine::Segment const> segments);

}  // namespace armci
