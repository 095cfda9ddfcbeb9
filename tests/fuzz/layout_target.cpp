/// Layouts: the normalised form describes the same bytes in the same order, from every position.
#include <algorithm>
#include <cstring>
#include <vector>

#include "engine/op/layout/boxes.hpp"
#include "engine/op/layout/layout.hpp"
#include "tests/fuzz/targets.hpp"
#include "tests/support/random_layout.hpp"

namespace mpixrma::fuzz {

namespace {

using namespace mpixrma::engine;

constexpr std::size_t largest = 4096;  // data bytes

std::ptrdiff_t signed_short(Reader& reader) {
  unsigned const low = reader.byte();
  return static_cast<std::int16_t>(low | reader.byte() << 8);
}

/// Returns the bytes that a cursor visits from `position` on, in steps of at most `step`.
std::vector<std::ptrdiff_t> visited(Layout const& layout, std::size_t position, std::size_t step) {
  std::vector<std::ptrdiff_t> offsets;
  LayoutCursor cursor(layout);
  cursor.seek(position);
  while (cursor.remaining() != 0) {
    LayoutRun const run = cursor.next(step);
    require(run.length != 0 && run.length <= step, "a run that is empty or too long");
    for (std::size_t i = 0; i < run.length; ++i)
      offsets.push_back(run.offset + static_cast<std::ptrdiff_t>(i));
  }
  return offsets;
}

/// Returns the bytes of the boxes that `bytes` bytes from `position` on consist of.
std::vector<std::ptrdiff_t> in_boxes(Layout const& layout, std::size_t position, std::size_t bytes) {
  std::vector<std::ptrdiff_t> offsets;
  for_boxes(layout, position, bytes, [&](Layout const& box, std::ptrdiff_t base, std::size_t done) {
    require(done == offsets.size() && box.size() != 0, "a box in the wrong place");
    for (std::ptrdiff_t const offset : test::offsets_of(box)) offsets.push_back(base + offset);
  });
  return offsets;
}

}  // namespace

bool layout(Input input) {
  Reader reader(input);
  std::vector<Dimension> dims(reader.byte() % 5);
  std::vector<LayoutRun> segments(reader.byte() % 9);
  std::size_t block = reader.byte() % 32;
  std::size_t const step = 1 + reader.byte();
  std::size_t const seek = reader.byte() * 16;
  for (Dimension& dimension : dims) {
    dimension.count = reader.byte() % 8;
    dimension.stride = signed_short(reader);
  }
  if (!segments.empty()) block = 0;
  for (LayoutRun& segment : segments) {
    segment.length = reader.byte() % 16;
    segment.offset = signed_short(reader);
    block += segment.length;
  }
  Layout const raw{block, dims, segments};
  if (raw.size() > largest) return false;
  OwnedLayout const owned(raw);
  Layout const normal = owned.view();
  std::vector<std::ptrdiff_t> const expected = test::offsets_of(raw);
  require(raw.size() == expected.size() && normal.size() == expected.size(), "sizes differ");
  require(test::offsets_of(normal) == expected, "the normalised layout names other bytes");
  std::size_t const position = seek < expected.size() ? seek : expected.size();
  std::vector<std::ptrdiff_t> const rest(expected.begin() + static_cast<std::ptrdiff_t>(position),
                                         expected.end());
  require(visited(raw, position, step) == rest, "a cursor visits other bytes");
  require(visited(normal, position, step) == rest, "a cursor visits other bytes of the normalised layout");
  std::size_t const bytes = std::min(step, rest.size());
  std::vector<std::ptrdiff_t> const part(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(bytes));
  require(in_boxes(raw, position, bytes) == part, "boxes of other bytes");
  require(in_boxes(normal, position, bytes) == part, "boxes of other bytes of the normalised layout");
  Extent const extent = normal.extent();
  for (std::ptrdiff_t const offset : expected)
    require(offset >= extent.begin && offset < extent.end, "a byte outside of the extent");
  return true;
}

}  // namespace mpixrma::fuzz
