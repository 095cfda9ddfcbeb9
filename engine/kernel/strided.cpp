/// Kernels over layouts: two sides that repeat equal blocks go row by row, all others run by run.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "engine/kernel/kernels.hpp"
#include "engine/kernel/row_kernels.hpp"

namespace mpix::engine {

namespace {

/// Both sides as the same counts of equal blocks, each with its own strides.
struct Grid {
  std::size_t block = 0;
  std::size_t dimensions = 0;
  std::size_t count[max_dimensions];
  std::ptrdiff_t to_stride[max_dimensions];
  std::ptrdiff_t from_stride[max_dimensions];
};

/// Fills `grid`; false when the sides are not of that form.
bool make_grid(Layout const& to, Layout const& from, Grid* grid) noexcept {
  if (!to.segments.empty() || !from.segments.empty()) return false;
  bool const to_packed = to.dims.empty();
  bool const from_packed = from.dims.empty();
  if (!to_packed && !from_packed && (to.block != from.block || to.dims.size() != from.dims.size()))
    return false;
  Layout const& shape = to_packed ? from : to;
  grid->block = shape.block;
  grid->dimensions = shape.dims.size();
  auto packed_stride = static_cast<std::ptrdiff_t>(shape.block);
  for (std::size_t i = 0; i < shape.dims.size(); ++i) {
    std::size_t const count = shape.dims[i].count;
    if (!to_packed && !from_packed && from.dims[i].count != count) return false;
    grid->count[i] = count;
    grid->to_stride[i] = to_packed ? packed_stride : to.dims[i].stride;
    grid->from_stride[i] = from_packed ? packed_stride : from.dims[i].stride;
    packed_stride *= static_cast<std::ptrdiff_t>(count);
  }
  return true;
}

/// Calls rows(to, to_stride, from, from_stride, count, bytes) for every line of the innermost dimension.
template <typename Rows>
void for_lines(Grid const& grid, std::byte* to, std::byte const* from, Rows rows) noexcept {
  if (grid.dimensions == 0) return rows(to, 0, from, 0, 1, grid.block);
  std::size_t index[max_dimensions] = {};
  for (;;) {
    rows(to, grid.to_stride[0], from, grid.from_stride[0], grid.count[0], grid.block);
    std::size_t i = 1;
    for (; i < grid.dimensions; ++i) {
      to += grid.to_stride[i];
      from += grid.from_stride[i];
      if (++index[i] < grid.count[i]) break;
      to -= static_cast<std::ptrdiff_t>(grid.count[i]) * grid.to_stride[i];
      from -= static_cast<std::ptrdiff_t>(grid.count[i]) * grid.from_stride[i];
      index[i] = 0;
    }
    if (i >= grid.dimensions) return;
  }
}

/// The general case: the longest runs that are contiguous on both sides.
template <typename Rows>
void for_runs(std::byte* to, LayoutCursor to_cursor, std::byte const* from, LayoutCursor from_cursor,
              std::size_t bytes, Rows rows) noexcept {
  Segment a{0, 0};
  Segment b{0, 0};
  while (bytes != 0) {
    if (a.length == 0) a = to_cursor.next(bytes);
    if (b.length == 0) b = from_cursor.next(bytes);
    std::size_t const step = std::min(a.length, b.length);
    rows(to + a.offset, 0, from + b.offset, 0, 1, step);
    bytes -= step;
    a.offset += static_cast<std::ptrdiff_t>(step);
    b.offset += static_cast<std::ptrdiff_t>(step);
    a.length -= step;
    b.length -= step;
  }
}

template <typename Rows>
void for_both(std::byte* to, Layout const& to_layout, std::byte const* from, Layout const& from_layout,
              Rows rows) noexcept {
  std::size_t const bytes = to_layout.size();
  if (bytes == 0) return;
  Grid grid;
  if (make_grid(to_layout, from_layout, &grid)) {
    for_lines(grid, to, from, rows);
  } else {
    for_runs(to, LayoutCursor(to_layout), from, LayoutCursor(from_layout), bytes, rows);
  }
}

/// Bytes [position, position + bytes) of `layout` against packed memory.
template <typename Rows>
void for_part(std::byte* base, Layout const& layout, std::size_t position, std::byte const* packed,
              std::size_t bytes, Rows rows) noexcept {
  if (bytes == 0) return;
  if (position == 0 && bytes == layout.size())
    return for_both(base, layout, packed, Layout::contiguous(bytes), rows);
  LayoutCursor cursor(layout);
  cursor.seek(position);
  for_runs(base, cursor, packed, LayoutCursor(Layout::contiguous(bytes)), bytes, rows);
}

/// One element after the other by compare and swap; a plain sum by the CPU's addition.
template <typename Word>
void combine_atomically(Reduction const& reduction, CombineRows combine, std::byte* to, std::byte const* from,
                        std::size_t bytes) noexcept {
  bool const plain_sum = reduction.operation == Operation::sum && reduction.scale == nullptr;
  for (std::size_t at = 0; at < bytes; at += sizeof(Word)) {
    auto* const word = reinterpret_cast<Word*>(to + at);
    if (plain_sum) {
      Word addend;
      std::memcpy(&addend, from + at, sizeof addend);
      __atomic_fetch_add(word, addend, __ATOMIC_RELAXED);
      continue;
    }
    Word old = __atomic_load_n(word, __ATOMIC_RELAXED);
    Word wanted;
    do {
      wanted = old;
      combine(reinterpret_cast<std::byte*>(&wanted), 0, from + at, 0, 1, sizeof wanted, reduction.scale);
    } while (!__atomic_compare_exchange_n(word, &old, wanted, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  }
}

CombineRows kernel_of(Reduction const& reduction) noexcept {
  auto const type = static_cast<std::size_t>(reduction.type);
  return reduction.scale != nullptr
             ? active_kernels->scaled_sum[type]
             : active_kernels->combine[type][static_cast<std::size_t>(reduction.operation)];
}

using CombineAtomically = decltype(&combine_atomically<std::uint64_t>);

CombineAtomically atomic_kernel_of(ElementType type) noexcept {
  switch (element_size(type)) {
    case 8: return &combine_atomically<std::uint64_t>;
    case 4: return &combine_atomically<std::uint32_t>;
    case 2: return &combine_atomically<std::uint16_t>;
    default: return &combine_atomically<std::uint8_t>;
  }
}

/// Combines contiguous elements as `reduction` says. Whatever the rest of the operation looks like, aligned
/// elements are updated by the CPU's atomics where these are asked for.
void combine_contiguous(Reduction const& reduction, CombineRows combine, std::byte* to, std::byte const* from,
                        std::size_t bytes) noexcept {
  if (reduction.element_atomic && is_cpu_atomic(reduction.type, reinterpret_cast<std::uintptr_t>(to)))
    return atomic_kernel_of(reduction.type)(reduction, combine, to, from, bytes);
  combine(to, 0, from, 0, 1, bytes, reduction.scale);
}

/// Calls visit(rows) with the function that combines rows as `reduction` says.
template <typename Visitor>
void with_kernel(Reduction const& reduction, Visitor visit) noexcept {
  CombineRows const combine = kernel_of(reduction);
  if (reduction.element_atomic && has_cpu_atomics(reduction.type)) {
    visit([&](std::byte* a, std::ptrdiff_t a_stride, std::byte const* b, std::ptrdiff_t b_stride,
              std::size_t rows, std::size_t bytes) {
      for (std::size_t row = 0; row < rows; ++row, a += a_stride, b += b_stride)
        combine_contiguous(reduction, combine, a, b, bytes);
    });
    return;
  }
  void const* const scale = reduction.scale;
  visit([combine, scale](std::byte* a, std::ptrdiff_t a_stride, std::byte const* b, std::ptrdiff_t b_stride,
                         std::size_t rows,
                         std::size_t bytes) { combine(a, a_stride, b, b_stride, rows, bytes, scale); });
}

}  // namespace

void copy(std::byte* to, Layout const& to_layout, std::byte const* from, Layout const& from_layout) noexcept {
  if (to_layout.is_contiguous() && from_layout.is_contiguous()) return copy_bytes(to, from, to_layout.block);
  for_both(to, to_layout, from, from_layout, active_kernels->copy);
}

void pack(std::byte* to, std::byte const* base, Layout const& layout, std::size_t position,
          std::size_t bytes) noexcept {
  if (layout.is_contiguous()) return copy_bytes(to, base + position, bytes);
  // The layout side is the first one of for_part: swap the roles back in the row function.
  for_part(const_cast<std::byte*>(base), layout, position, to, bytes,
           [](std::byte* from, std::ptrdiff_t from_stride, std::byte const* packed,
              std::ptrdiff_t packed_stride, std::size_t rows, std::size_t row_bytes) {
             active_kernels->copy(const_cast<std::byte*>(packed), packed_stride, from, from_stride, rows,
                                  row_bytes);
           });
}

void unpack(std::byte* base, Layout const& layout, std::size_t position, std::byte const* from,
            std::size_t bytes) noexcept {
  if (layout.is_contiguous()) return copy_bytes(base + position, from, bytes);
  for_part(base, layout, position, from, bytes, active_kernels->copy);
}

void accumulate(Reduction const& reduction, std::byte* to, Layout const& to_layout, std::byte const* from,
                Layout const& from_layout) noexcept {
  if (to_layout.is_contiguous() && from_layout.is_contiguous())
    return accumulate_contiguous(reduction, to, from, to_layout.block);
  with_kernel(reduction, [&](auto rows) { for_both(to, to_layout, from, from_layout, rows); });
}

void accumulate_contiguous(Reduction const& reduction, std::byte* to, std::byte const* from,
                           std::size_t bytes) noexcept {
  combine_contiguous(reduction, kernel_of(reduction), to, from, bytes);
}

void accumulate_packed(Reduction const& reduction, std::byte* base, Layout const& layout,
                       std::size_t position, std::byte const* from, std::size_t bytes) noexcept {
  with_kernel(reduction, [&](auto rows) { for_part(base, layout, position, from, bytes, rows); });
}

}  // namespace mpix::engine
