#include "engine/memory/coverage.hpp"

#include <iterator>

namespace mpixrma::engine {

std::size_t Coverage::covering(RemoteAddress address) const {
  auto const next = points_.upper_bound(address);
  return next == points_.begin() ? 0 : std::prev(next)->second.covering;
}

Coverage::Points::iterator Coverage::point_at(RemoteAddress address) {
  return points_.try_emplace(address, Point{covering(address), 0, 0}).first;
}

void Coverage::drop_if_unused(Points::iterator point) {
  if (point->second.begin == 0 && point->second.end == 0) points_.erase(point);
}

void Coverage::add(Range range) {
  auto const first = point_at(range.begin);
  auto const last = point_at(range.end);
  ++first->second.begin;
  ++last->second.end;
  for (auto point = first; point != last; ++point) ++point->second.covering;
}

void Coverage::remove(Range range) {
  auto const first = points_.find(range.begin);
  auto const last = points_.find(range.end);
  --first->second.begin;
  --last->second.end;
  for (auto point = first; point != last; ++point) --point->second.covering;
  drop_if_unused(first);
  drop_if_unused(last);
}

std::vector<Coverage::Range> Coverage::unions_in(Range whole, Range changed) const {
  std::vector<Range> result;
  RemoteAddress begin = whole.begin;
  std::size_t before = covering(whole.begin);
  if (changed.begin > whole.begin) before = covering(changed.begin - 1);
  for (auto point = points_.upper_bound(changed.begin > whole.begin ? changed.begin - 1 : whole.begin);
       point != points_.end() && point->first < whole.end && point->first <= changed.end; ++point) {
    bool const crossed = before != point->second.end;
    if (!crossed && before != 0) result.push_back({begin, point->first});
    if (!crossed) begin = point->first;
    before = point->second.covering;
  }
  if (before != 0) result.push_back({begin, whole.end});
  return result;
}

}  // namespace mpixrma::engine
