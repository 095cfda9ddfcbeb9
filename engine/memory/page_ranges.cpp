#include "engine/memory/page_ranges.hpp"

#include <algorithm>
#include <iterator>

namespace mpixrma::engine {

void PageRanges::add(Range range) {
  bytes_ += range.end - range.begin;
  auto next = ranges_.lower_bound(range.begin);
  if (next != ranges_.begin() && std::prev(next)->second == range.begin) {
    range.begin = std::prev(next)->first;
    next = ranges_.erase(std::prev(next));
  }
  if (next != ranges_.end() && next->first == range.end) {
    range.end = next->second;
    next = ranges_.erase(next);
  }
  ranges_.emplace_hint(next, range.begin, range.end);
}

std::vector<PageRanges::Range> PageRanges::remove(Range range) {
  std::vector<Range> missing;
  auto it = ranges_.upper_bound(range.begin);
  if (it != ranges_.begin() && std::prev(it)->second > range.begin) --it;
  std::size_t at = range.begin;
  while (it != ranges_.end() && it->first < range.end) {
    auto const [begin, end] = *it;
    if (at < begin) missing.push_back({at, begin});
    at = std::min(end, range.end);
    bytes_ -= at - std::max(begin, range.begin);
    it = ranges_.erase(it);
    if (begin < range.begin) ranges_.emplace(begin, range.begin);
    if (end > range.end) it = ranges_.emplace(range.end, end).first;
  }
  if (at < range.end) missing.push_back({at, range.end});
  return missing;
}

std::vector<PageRanges::Range> PageRanges::all() const {
  std::vector<Range> ranges;
  for (auto const& [begin, end] : ranges_) ranges.push_back({begin, end});
  return ranges;
}

}  // namespace mpixrma::engine
