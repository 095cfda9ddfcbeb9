#include "armci/overlap.hpp"

namespace armci {

namespace {

using mpixrma::engine::LayoutRun;

std::ptrdiff_t end_of(LayoutRun const& run) noexcept {
  return run.offset + static_cast<std::ptrdiff_t>(run.length);
}

}  // namespace

bool any_neighbours_overlap(std::span<LayoutRun const> runs) {
  auto const overlaps = [](LayoutRun const& a, LayoutRun const& b) { return end_of(a) > b.offset; };
  return std::adjacent_find(runs.begin(), runs.end(), overlaps) != runs.end();
}

bool overlap(std::span<LayoutRun const> runs) {
  return overlap_in_order(runs, [](LayoutRun const& a, LayoutRun const& b) { return a.offset < b.offset; });
}

}  // namespace armci
