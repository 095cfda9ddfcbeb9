#include "armci/overlap.hpp"

namespace armci {

namespace {

using mpixrma::engine::Segment;

std::ptrdiff_t end_of(Segment const& segment) noexcept {
  return segment.offset + static_cast<std::ptrdiff_t>(segment.length);
}

}  // namespace

bool neighbours_overlap(std::span<Segment const> segments) {
  auto const meet = [](Segment const& a, Segment const& b) { return end_of(a) > b.offset; };
  return std::adjacent_find(segments.begin(), segments.end(), meet) != segments.end();
}

bool overlap(std::span<Segment const> segments) {
  return overlap_in_order(segments, [](Segment const& a, Segment const& b) { return a.offset < b.offset; });
}

}  // namespace armci
