#include "datatype/compose.hpp"

namespace mpixrma {

using engine::Dimension;
using engine::Layout;
using engine::LayoutCursor;
using engine::LayoutRun;
using engine::OwnedLayout;

OwnedLayout repeat(OwnedLayout const& one, std::size_t count, std::ptrdiff_t stride) {
  if (count == 1) return one;
  Layout layout = one.view();
  std::vector<Dimension> dims(layout.dims.begin(), layout.dims.end());
  dims.push_back({count, stride});
  layout.dims = dims;
  if (dims.size() < engine::max_dimensions / 2) return OwnedLayout(layout);
  // Deeply nested layouts become a list of runs, so that a dimension is left for the count.
  std::vector<LayoutRun> runs;
  LayoutCursor cursor(layout);
  while (cursor.remaining() != 0) runs.push_back(cursor.next());
  return OwnedLayout(Layout{layout.size(), {}, runs});
}

OwnedLayout shift(OwnedLayout const& layout, std::ptrdiff_t displacement) {
  if (displacement == 0) return layout;
  Layout const view = layout.view();
  LayoutRun const whole{0, view.block};
  std::vector<LayoutRun> runs(view.runs.begin(), view.runs.end());
  if (runs.empty()) runs.push_back(whole);
  for (LayoutRun& run : runs) run.offset += displacement;
  return OwnedLayout(Layout{view.block, view.dims, runs});
}

void Pieces::add(OwnedLayout const& piece, std::ptrdiff_t displacement) {
  LayoutCursor cursor(piece.view());
  while (cursor.remaining() != 0) {
    LayoutRun run = cursor.next();
    run.offset += displacement;
    bytes_ += run.length;
    bool const follows = !runs_.empty() &&
                         runs_.back().offset + static_cast<std::ptrdiff_t>(runs_.back().length) == run.offset;
    if (follows) {
      runs_.back().length += run.length;
    } else {
      runs_.push_back(run);
    }
  }
}

}  // namespace mpixrma
