/// Whether segments of memory share a byte.
#pragma once

#include <span>

#include "engine/op/layout/layout.hpp"

namespace armci {

/// True when two of the segments overlap. O(N) for segments in ascending order, O(N log N) for others.
bool overlap(std::span<mpixrma::engine::Segment const> segments);

}  // namespace armci
