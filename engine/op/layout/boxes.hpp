/// Splits a part of a layout into boxes, which are layouts themselves.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "engine/op/layout/layout.hpp"

namespace mpixrma::engine {

namespace detail {

/// Visits the boxes of the layout with its innermost `levels` dimensions only. `done`: number of bytes
/// visited before.
template <typename Visit>
void for_boxes_within(Layout const& layout, std::size_t levels, std::ptrdiff_t offset, std::size_t position,
                      std::size_t bytes, std::size_t* done, Visit& visit) {
  auto const emit = [&](Layout const& box, std::ptrdiff_t at, std::size_t size) {
    visit(box, at, *done);
    *done += size;
  };
  if (levels == 0) {
    if (layout.runs.empty())
      return emit(Layout::contiguous(bytes), offset + static_cast<std::ptrdiff_t>(position), bytes);
    LayoutCursor cursor(Layout{layout.block, {}, layout.runs});
    cursor.seek(position);
    for (std::size_t rest = bytes; rest != 0;) {
      LayoutRun const run = cursor.next(rest);
      emit(Layout::contiguous(run.length), offset + run.offset, run.length);
      rest -= run.length;
    }
    return;
  }
  Dimension const& outer = layout.dims[levels - 1];
  std::size_t const inner = Layout{layout.block, layout.dims.first(levels - 1), {}}.size();
  offset += static_cast<std::ptrdiff_t>(position / inner) * outer.stride;
  if (std::size_t const cut = position % inner; cut != 0 || bytes < inner) {
    std::size_t const head = std::min(bytes, inner - cut);
    for_boxes_within(layout, levels - 1, offset, cut, head, done, visit);
    bytes -= head;
    offset += outer.stride;
  }
  if (levels > max_dimensions) {
    // A box has at most max_dimensions dimensions.
    for (; bytes >= inner; bytes -= inner, offset += outer.stride)
      for_boxes_within(layout, levels - 1, offset, 0, inner, done, visit);
  }
  if (std::size_t const whole = bytes / inner; whole != 0) {
    std::array<Dimension, max_dimensions> dims;
    std::copy_n(layout.dims.begin(), levels - 1, dims.begin());
    dims[levels - 1] = {whole, outer.stride};
    emit({layout.block, std::span(dims).first(levels), layout.runs}, offset, whole * inner);
    offset += static_cast<std::ptrdiff_t>(whole) * outer.stride;
  }
  if (std::size_t const tail = bytes % inner; tail != 0)
    for_boxes_within(layout, levels - 1, offset, 0, tail, done, visit);
}

}  // namespace detail

/// Calls visit(box, offset, done) for the layouts that bytes [position, position + bytes) of `layout`'s data
/// consist of, in order: `offset` is the base of each box relative to that of `layout`, `done` the number of
/// bytes before it. There are at most two boxes per dimension, and one per run in the partial blocks at the
/// two ends. A box is valid during the call only.
template <typename Visit>
void for_boxes(Layout const& layout, std::size_t position, std::size_t bytes, Visit visit) {
  std::size_t done = 0;
  if (bytes != 0) detail::for_boxes_within(layout, layout.dims.size(), 0, position, bytes, &done, visit);
}

}  // namespace mpixrma::engine
