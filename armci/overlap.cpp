#include "armci/overlap.hpp"

namespace armci {

namespace {

using mpixrma::engine::LayoutRun;

std::ptrdiff_t end_of(LayoutRun const& segment) noexcept {
  return segment.offset + static_cast<std::ptrdiff_t>(segment.length);
}

}  // namespace

bool neighbours_overlap(std::span<LayoutRun const> segments) {
  auto const meet = [](LayoutRun const& a, LayoutRun const& b) { return end_of(a) > b.offset; };
  return std::adjacent_find(segments.begin(), segments.end(), meet) != segments.end();
}

bool overlap(std::span<LayoutRun const> segments) {
  return overlap_in_order(segments,
                          [](LayoutRun const& a, LayoutRun const& b) { return a.offset < b.offset; });
}

}  // namespace armci
