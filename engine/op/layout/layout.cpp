#include "engine/op/layout/layout.hpp"

#include <algorithm>

namespace mpixrma::engine {

namespace {

bool divides_runs(Layout const& layout, std::size_t unit) noexcept {
  if (layout.segments.empty()) return layout.block % unit == 0;
  return std::all_of(layout.segments.begin(), layout.segments.end(),
                     [unit](LayoutRun const& segment) { return segment.length % unit == 0; });
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
  // A division would dominate the time.
  if (segments.empty()) return (block & rest) == 0;
  return std::all_of(segments.begin(), segments.end(),
                     [rest](LayoutRun const& segment) { return (segment.length & rest) == 0; });
}

Extent Layout::extent() const noexcept {
  Extent extent{0, static_cast<std::ptrdiff_t>(block)};
  if (!segments.empty()) {
    extent = {PTRDIFF_MAX, PTRDIFF_MIN};
    for (LayoutRun const& segment : segments) {
      if (segment.length == 0) continue;
      extent.begin = std::min(extent.begin, segment.offset);
      extent.end = std::max(extent.end, segment.offset + static_cast<std::ptrdiff_t>(segment.length));
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
  segment_ = 0;
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
  for (; !layout_.segments.empty() && rest >= layout_.segments[segment_].length; ++segment_) {
    rest -= layout_.segments[segment_].length;
  }
  within_ = rest;
}

LayoutRun LayoutCursor::next(std::size_t limit) noexcept {
  if (remaining_ == 0 || limit == 0) return {0, 0};
  LayoutRun const whole{0, layout_.block};
  std::span<LayoutRun const> const segments =
      layout_.segments.empty() ? std::span<LayoutRun const>(&whole, 1) : layout_.segments;
  for (;;) {
    LayoutRun const& segment = segments[segment_];
    if (within_ < segment.length) {
      std::size_t const length = std::min(limit, segment.length - within_);
      LayoutRun const run{origin_ + segment.offset + static_cast<std::ptrdiff_t>(within_), length};
      within_ += length;
      remaining_ -= length;
      return run;
    }
    within_ = 0;
    if (++segment_ < segments.size()) continue;
    segment_ = 0;
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
