/// Walks several layouts together, in byte order: sides that repeat equal blocks line by line, all others run
/// by run. For the kernel sources only.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "engine/op/layout/boxes.hpp"
#include "engine/op/layout/layout.hpp"

namespace mpixrma::engine {
namespace {

/// Memory and the layout of its data.
struct Side {
  std::byte* base;
  Layout const& layout;
};

template <std::size_t sides>
using Pointers = std::array<std::byte*, sides>;
template <std::size_t sides>
using Strides = std::array<std::ptrdiff_t, sides>;

/// All sides as the same counts of equal blocks, each with its own strides.
template <std::size_t sides>
struct Grid {
  std::size_t block = 0;
  std::size_t dimensions = 0;
  std::size_t count[max_dimensions];
  Strides<sides> stride[max_dimensions];
};

/// Whether the layout can be represented as the blocks of `shape`.
inline bool fits(Layout const& layout, Layout const& shape) noexcept {
  if (layout.dims.empty()) return true;
  if (layout.block != shape.block || layout.dims.size() != shape.dims.size()) return false;
  for (std::size_t i = 0; i < shape.dims.size(); ++i) {
    if (layout.dims[i].count != shape.dims[i].count) return false;
  }
  return true;
}

/// Fills `grid`; false if the sides do not have that form.
template <std::size_t sides>
bool make_grid(std::array<Side, sides> const& all, Grid<sides>* grid) noexcept {
  Layout const* shape = &all[0].layout;
  for (Side const& side : all) {
    if (!side.layout.runs.empty()) return false;
    if (shape->dims.empty()) shape = &side.layout;
  }
  for (Side const& side : all) {
    if (!fits(side.layout, *shape)) return false;
  }
  grid->block = shape->block;
  grid->dimensions = shape->dims.size();
  auto packed_stride = static_cast<std::ptrdiff_t>(shape->block);
  for (std::size_t i = 0; i < shape->dims.size(); ++i) {
    grid->count[i] = shape->dims[i].count;
    for (std::size_t side = 0; side < sides; ++side) {
      Layout const& layout = all[side].layout;
      grid->stride[i][side] = layout.dims.empty() ? packed_stride : layout.dims[i].stride;
    }
    packed_stride *= static_cast<std::ptrdiff_t>(shape->dims[i].count);
  }
  return true;
}

/// Calls rows(pointers, strides, count, bytes) for every line of the innermost dimension.
template <std::size_t sides, typename Rows>
void for_lines(Grid<sides> const& grid, Pointers<sides> at, Rows rows) noexcept {
  if (grid.dimensions == 0) return rows(at, Strides<sides>{}, 1, grid.block);
  std::size_t index[max_dimensions] = {};
  for (;;) {
    rows(at, grid.stride[0], grid.count[0], grid.block);
    std::size_t i = 1;
    for (; i < grid.dimensions; ++i) {
      for (std::size_t side = 0; side < sides; ++side) at[side] += grid.stride[i][side];
      if (++index[i] < grid.count[i]) break;
      for (std::size_t side = 0; side < sides; ++side)
        at[side] -= static_cast<std::ptrdiff_t>(grid.count[i]) * grid.stride[i][side];
      index[i] = 0;
    }
    if (i >= grid.dimensions) return;
  }
}

/// The general case: runs that are contiguous on all sides.
template <std::size_t sides, typename Rows>
void for_runs(Pointers<sides> const& bases, std::array<LayoutCursor, sides> cursors, std::size_t bytes,
              Rows rows) noexcept {
  std::array<LayoutRun, sides> run{};
  while (bytes != 0) {
    std::size_t step = bytes;
    for (std::size_t side = 0; side < sides; ++side) {
      if (run[side].length == 0) run[side] = cursors[side].next(bytes);
      step = std::min(step, run[side].length);
    }
    Pointers<sides> at;
    for (std::size_t side = 0; side < sides; ++side) {
      at[side] = bases[side] + run[side].offset;
      run[side].offset += static_cast<std::ptrdiff_t>(step);
      run[side].length -= step;
    }
    rows(at, Strides<sides>{}, 1, step);
    bytes -= step;
  }
}

template <std::size_t sides>
Pointers<sides> bases_of(std::array<Side, sides> const& all) noexcept {
  Pointers<sides> bases;
  for (std::size_t side = 0; side < sides; ++side) bases[side] = all[side].base;
  return bases;
}

/// Walks all sides to their ends.
template <typename Rows, typename... Others>
void walk(Rows rows, Side const& first, Others const&... others) noexcept {
  constexpr std::size_t sides = 1 + sizeof...(others);
  std::size_t const bytes = first.layout.size();
  if (bytes == 0) return;
  std::array<Side, sides> const all{first, others...};
  Grid<sides> grid;
  if (make_grid(all, &grid)) {
    for_lines<sides>(grid, bases_of(all), rows);
  } else {
    for_runs<sides>(bases_of(all), {LayoutCursor(first.layout), LayoutCursor(others.layout)...}, bytes, rows);
  }
}

/// Walks bytes [position, position + bytes) of the first side's data, against `bytes` packed bytes on the
/// others.
template <typename Rows, typename... Packed>
void walk_part(Rows rows, Side const& first, std::size_t position, std::size_t bytes,
               Packed... packed) noexcept {
  if (bytes == 0) return;
  if (position == 0 && bytes == first.layout.size())
    return walk(rows, first, Side{packed, Layout::contiguous(bytes)}...);
  for_boxes(first.layout, position, bytes, [&](Layout const& box, std::ptrdiff_t offset, std::size_t done) {
    walk(rows, Side{first.base + offset, box}, Side{packed + done, Layout::contiguous(box.size())}...);
  });
}

}  // namespace
}  // namespace mpixrma::engine
