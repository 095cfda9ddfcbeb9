#include "engine/origin/fragment.hpp"

#include <algorithm>

#include "engine/net/wire.hpp"

namespace mpixrma::engine {

namespace {

std::size_t whole(FragmentLimits const& limits, std::size_t bytes) noexcept {
  return limits.element == 1 ? bytes : bytes - bytes % limits.element;
}

/// Visits the runs of the sliced fragment that starts at `offset`; runs may extend beyond its end. Returns
/// the number of bytes that the fragment covers.
template <typename Visitor>
std::size_t slice(LayoutCursor& cursor, FragmentLimits const& limits, std::size_t offset, Visitor visit) {
  std::size_t const most = whole(limits, limits.bytes);
  std::size_t bytes = 0;
  for (std::size_t count = 0; count < limits.runs && bytes < most; ++count) {
    LayoutRun const run = cursor.next(most - bytes);
    if (run.length == 0) break;
    visit(run);
    bytes += run.length;
  }
  if (whole(limits, bytes) == bytes) return bytes;
  // The last fitting run ends within an element that consists of several runs.
  bytes = whole(limits, bytes);
  cursor.seek(offset + bytes);
  return bytes;
}

/// Truncates the runs to their first `bytes` bytes.
void truncate(std::vector<LayoutRun>& runs, std::size_t bytes) {
  std::size_t kept = 0;
  for (; bytes != 0; ++kept) {
    runs[kept].length = std::min(runs[kept].length, bytes);
    bytes -= runs[kept].length;
  }
  runs.resize(kept);
}

}  // namespace

bool sends_full_layout(Layout const& layout, std::size_t total, FragmentLimits const& limits) noexcept {
  bool const one_message = layout.dims.empty() && total <= whole(limits, limits.bytes);
  return layout.runs.size() <= (one_message ? limits.runs : std::min(limits.runs, wire::max_repeated_runs));
}

std::uint64_t count_fragments(Layout const& layout, std::size_t total, FragmentLimits const& limits) {
  if (sends_full_layout(layout, total, limits)) {
    std::size_t const most = whole(limits, limits.bytes);
    return (total + most - 1) / most;
  }
  std::uint64_t count = 0;
  LayoutCursor cursor(layout);
  for (std::size_t offset = 0; offset < total; ++count) {
    std::size_t const bytes = slice(cursor, limits, offset, [](LayoutRun const&) {});
    if (bytes == 0) break;
    offset += bytes;
  }
  return count;
}

Fragment fragment_at(Layout const& layout, std::size_t total, std::size_t offset,
                     FragmentLimits const& limits) {
  Fragment fragment;
  fragment.offset = offset;
  if (sends_full_layout(layout, total, limits)) {
    fragment.bytes = std::min(whole(limits, limits.bytes), total - offset);
    fragment.layout_offset = offset;
    return fragment;
  }
  fragment.whole = false;
  LayoutCursor cursor(layout);
  cursor.seek(offset);
  // A run that an earlier fragment has begun is described from its beginning, which determines its segment;
  // not if it began within an element.
  bool const extends = cursor.within() % limits.element == 0;
  fragment.layout_offset = extends ? cursor.within() : 0;
  fragment.bytes = slice(cursor, limits, offset, [&](LayoutRun const& run) { fragment.runs.push_back(run); });
  truncate(fragment.runs, fragment.bytes);
  if (fragment.runs.empty()) return fragment;
  fragment.runs.front().offset -= static_cast<std::ptrdiff_t>(fragment.layout_offset);
  fragment.runs.front().length += fragment.layout_offset;
  return fragment;
}

}  // namespace mpixrma::engine
