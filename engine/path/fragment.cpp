#include "engine/path/fragment.hpp"

#include <algorithm>

namespace mpix::engine {

namespace {

/// Visits the runs of one sliced fragment; returns the bytes that it covers.
template <typename Visitor>
std::size_t slice(LayoutCursor& cursor, FragmentLimits const& limits, Visitor visit) {
  std::size_t bytes = 0;
  for (std::size_t runs = 0; runs < limits.segments && bytes < limits.bytes; ++runs) {
    Segment const run = cursor.next(limits.bytes - bytes);
    if (run.length == 0) break;
    visit(run);
    bytes += run.length;
  }
  return bytes;
}

}  // namespace

bool described_whole(Layout const& layout, FragmentLimits const& limits) noexcept {
  return layout.segments.size() <= std::min<std::size_t>(limits.segments, 64);
}

std::uint64_t count_fragments(Layout const& layout, std::size_t total, FragmentLimits const& limits) {
  if (described_whole(layout, limits)) return (total + limits.bytes - 1) / limits.bytes;
  std::uint64_t count = 0;
  LayoutCursor cursor(layout);
  while (slice(cursor, limits, [](Segment const&) {}) != 0) ++count;
  return count;
}

Fragment fragment_at(Layout const& layout, std::size_t total, std::size_t offset,
                     FragmentLimits const& limits) {
  Fragment fragment;
  fragment.offset = offset;
  if (described_whole(layout, limits)) {
    fragment.bytes = std::min(limits.bytes, total - offset);
    fragment.position = offset;
    return fragment;
  }
  fragment.whole = false;
  LayoutCursor cursor(layout);
  cursor.seek(offset);
  fragment.bytes = slice(cursor, limits, [&](Segment const& run) { fragment.segments.push_back(run); });
  return fragment;
}

}  // namespace mpix::engine
