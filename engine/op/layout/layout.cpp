#include "engine/op/layout/layout.hpp"

#include <algorithm>

namespace mpixrma::engine {

namespace {

bool divides_runs(Layout const& layout, std::size_t unit) noexcept {
  if (layout.runs.empty()) return layout.block % unit == 0;
  return std::all_of(layout.runs.begin(), layout.runs.end(),
                     [unit](LayoutRun const& run) { return run.length % unit == 0; });
}

}  // namespace

std::size_t Layout::size() const noexcept {
  std::size_t bytes = block;
  for (Dimension const& dimension : dims) bytes *= dimension.count;
  return bytes;
}

bool Layout::has_whole(std::size_t unit) const noexcept {
  if (unit <= 1) return true;
  std::size_t const rest = unit - 1;
  if ((unit & rest) != 0) [[unlikely]]
    return divides_runs(*this, unit);
  // Masks, because a division would dominate the time.
  if (runs.empty()) return (block & rest) == 0;
  return std::all_of(runs.begin(), runs.end(),
                     [rest](LayoutRun const& run) { return (run.length & rest) == 0; });
}

Extent Layout::extent() const noexcept {
  Extent extent{0, static_cast<std::ptrdiff_t>(block)};
  if (!runs.empty()) {
    extent = {PTRDIFF_MAX, PTRDIFF_MIN};
    for (LayoutRun const& run : runs) {
      if (run.length == 0) continue;
      extent.begin = std::min(extent.begin, run.offset);
      extent.end = std::max(extent.end, run.offset + static_cast<std::ptrdiff_t>(run.length));
    }
  }
  if (block == 0) return {0, 0};
  for (Dimension const& dimension : dims) {
    if (dimension.count == 0) return {0, 0};
    std::ptrdiff_t const span = static_cast<std::ptrdiff_t>(dimension.count - 1) * dimension.stride;
    (span < 0 ? extent.begin : extent.end) += span;
  }
  return extent;
}

LayoutCursor::LayoutCursor(Layout const& layout) noexcept : layout_(layout), remaining_(layout.size()) {}

void LayoutCursor::seek(std::size_t position) noexcept {
  std::size_t const total = layout_.size();
  remaining_ = total - position;
  run_ = 0;
  within_ = 0;
  origin_ = 0;
  if (remaining_ == 0) return;
  // The index of the repetition is a number in the mixed radix of the counts, innermost digit first.
  std::size_t repetition = position / layout_.block;
  std::size_t rest = position % layout_.block;
  for (std::size_t i = 0; i < layout_.dims.size(); ++i) {
    Dimension const& dimension = layout_.dims[i];
    index_[i] = repetition % dimension.count;
    repetition /= dimension.count;
    origin_ += static_cast<std::ptrdiff_t>(index_[i]) * dimension.stride;
  }
  for (; !layout_.runs.empty() && rest >= layout_.runs[run_].length; ++run_) {
    rest -= layout_.runs[run_].length;
  }
  within_ = rest;
}

LayoutRun LayoutCursor::next_part(std::size_t limit) noexcept {
  if (remaining_ == 0 || limit == 0) return {0, 0};
  LayoutRun const whole{0, layout_.block};
  std::span<LayoutRun const> const runs =
      layout_.runs.empty() ? std::span<LayoutRun const>(&whole, 1) : layout_.runs;
  for (;;) {
    LayoutRun const& run = runs[run_];
    if (within_ < run.length) {
      std::size_t const length = std::min(limit, run.length - within_);
      LayoutRun const part{origin_ + run.offset + static_cast<std::ptrdiff_t>(within_), length};
      within_ += length;
      remaining_ -= length;
      if (within_ == run.length && run_ + 1 < runs.size()) {  // next() goes on with whole runs
        within_ = 0;
        ++run_;
      }
      return part;
    }
    within_ = 0;
    if (++run_ < runs.size()) continue;
    run_ = 0;
    for (std::size_t i = 0; i < layout_.dims.size(); ++i) {
      Dimension const& dimension = layout_.dims[i];
      origin_ += dimension.stride;
      if (++index_[i] < dimension.count) break;
      origin_ -= static_cast<std::ptrdiff_t>(dimension.count) * dimension.stride;
      index_[i] = 0;
    }
  }
}

}  // namespace mpixrma::engine
