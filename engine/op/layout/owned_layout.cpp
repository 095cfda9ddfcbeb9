#include <algorithm>

#include "engine/op/layout/layout.hpp"

namespace mpixrma::engine {

namespace {

void merge_adjacent(std::vector<LayoutRun>& segments) {
  std::erase_if(segments, [](LayoutRun const& segment) { return segment.length == 0; });
  std::size_t kept = 0;
  for (std::size_t i = 1; i < segments.size(); ++i) {
    LayoutRun& last = segments[kept];
    if (last.offset + static_cast<std::ptrdiff_t>(last.length) == segments[i].offset) {
      last.length += segments[i].length;
    } else {
      segments[++kept] = segments[i];
    }
  }
  if (!segments.empty()) segments.resize(kept + 1);
}

/// Equally long and equally spaced segments that begin at the base form one dimension.
bool is_regular(std::vector<LayoutRun> const& segments) {
  if (segments.empty() || segments.front().offset != 0) return false;
  std::ptrdiff_t const stride = segments.size() > 1 ? segments[1].offset : 0;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    bool const fits = segments[i].length == segments.front().length &&
                      segments[i].offset == static_cast<std::ptrdiff_t>(i) * stride;
    if (!fits) return false;
  }
  return true;
}

}  // namespace

OwnedLayout::OwnedLayout(Layout const& layout)
    : block_(layout.block),
      dims_(layout.dims.begin(), layout.dims.end()),
      segments_(layout.segments.begin(), layout.segments.end()) {
  if (layout.size() == 0) {
    *this = OwnedLayout();
    return;
  }
  std::erase_if(dims_, [](Dimension const& dimension) { return dimension.count == 1; });
  merge_adjacent(segments_);
  if (is_regular(segments_)) {
    block_ = segments_.front().length;
    if (segments_.size() > 1) dims_.insert(dims_.begin(), {segments_.size(), segments_[1].offset});
    segments_.clear();
  }
  // Merge adjacent repetitions of a block into a longer block. Repeated lists stay as they are.
  while (segments_.empty() && !dims_.empty() && dims_.front().stride == static_cast<std::ptrdiff_t>(block_)) {
    block_ *= dims_.front().count;
    dims_.erase(dims_.begin());
  }
  // An outer dimension that continues the inner one's progression is the same dimension.
  for (std::size_t i = 0; i + 1 < dims_.size();) {
    if (dims_[i + 1].stride == static_cast<std::ptrdiff_t>(dims_[i].count) * dims_[i].stride) {
      dims_[i].count *= dims_[i + 1].count;
      dims_.erase(dims_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    } else {
      ++i;
    }
  }
}

}  // namespace mpixrma::engine
