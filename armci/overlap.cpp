#include "armci/overlap.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace armci {

namespace {

using mpixrma::engine::Segment;

std::ptrdiff_t end_of(Segment const& segment) noexcept {
  return segment.offset + static_cast<std::ptrdiff_t>(segment.length);
}

/// In ascending order only neighbouring segments can overlap.
bool neighbours_overlap(std::span<Segment const> segments) {
  auto const meet = [](Segment const& a, Segment const& b) { return end_of(a) > b.offset; };
  return std::adjacent_find(segments.begin(), segments.end(), meet) != segments.end();
}

}  // namespace

bool overlap(std::span<Segment const> segments) {
  auto const before = [](Segment const& a, Segment const& b) { return a.offset < b.offset; };
  if (std::is_sorted(segments.begin(), segments.end(), before)) return neighbours_overlap(segments);
  std::vector<Segment> sorted;
  for (Segment const& segment : segments)
    if (segment.length != 0) sorted.push_back(segment);
  std::sort(sorted.begin(), sorted.end(), before);
  return neighbours_overlap(sorted);
}

}  // namespace armci
