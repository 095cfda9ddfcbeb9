#include <algorithm>

#include "engine/op/layout/layout.hpp"

namespace mpixrma::engine {

namespace {

/// Copies the runs without empty ones, and merges those that are adjacent.
std::vector<LayoutRun> merged(std::span<LayoutRun const> runs) {
  std::vector<LayoutRun> result;
  result.reserve(runs.size());
  std::ptrdiff_t end = 0;  // of the last run of the result
  for (LayoutRun const& run : runs) {
    if (run.length == 0) continue;
    if (run.offset == end && !result.empty()) {
      result.back().length += run.length;
    } else {
      result.push_back(run);
    }
    end = run.offset + static_cast<std::ptrdiff_t>(run.length);
  }
  return result;
}

/// Equally long and equally spaced runs that begin at the base form one dimension.
bool is_regular(std::vector<LayoutRun> const& runs) {
  if (runs.empty() || runs.front().offset != 0) return false;
  std::ptrdiff_t const stride = runs.size() > 1 ? runs[1].offset : 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    bool const fits =
        runs[i].length == runs.front().length && runs[i].offset == static_cast<std::ptrdiff_t>(i) * stride;
    if (!fits) return false;
  }
  return true;
}

}  // namespace

OwnedLayout::OwnedLayout(Layout const& layout)
    : block_(layout.block), dims_(layout.dims.begin(), layout.dims.end()), runs_(merged(layout.runs)) {
  if (layout.size() == 0) {
    *this = OwnedLayout();
    return;
  }
  std::erase_if(dims_, [](Dimension const& dimension) { return dimension.count == 1; });
  if (is_regular(runs_)) {
    block_ = runs_.front().length;
    if (runs_.size() > 1) dims_.insert(dims_.begin(), {runs_.size(), runs_[1].offset});
    runs_.clear();
  }
  // Merge adjacent repetitions of a block into a longer block. Repeated lists stay as they are.
  while (runs_.empty() && !dims_.empty() && dims_.front().stride == static_cast<std::ptrdiff_t>(block_)) {
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
