/// Copies between layouts.
#include "engine/op/kernel/kernels.hpp"
#include "engine/op/kernel/row_kernels.hpp"
#include "engine/op/kernel/walk.hpp"

namespace mpixrma::engine {

namespace {

constexpr auto copy_rows = [](Pointers<2> const& at, Strides<2> const& stride, std::size_t rows,
                              std::size_t bytes) {
  active_kernels->copy(at[0], stride[0], at[1], stride[1], rows, bytes);
};

}  // namespace

void copy(std::byte* to, Layout const& to_layout, std::byte const* from, Layout const& from_layout) noexcept {
  if (to_layout.is_contiguous() && from_layout.is_contiguous()) return copy_bytes(to, from, to_layout.block);
  walk(copy_rows, Side{to, to_layout}, Side{const_cast<std::byte*>(from), from_layout});
}

void pack(std::byte* to, std::byte const* base, Layout const& layout, std::size_t position,
          std::size_t bytes) noexcept {
  if (layout.is_contiguous()) return copy_bytes(to, base + position, bytes);
  // The layout is the first side, so the data go in the opposite direction.
  walk_part(
      [](Pointers<2> const& at, Strides<2> const& stride, std::size_t rows, std::size_t row_bytes) {
        active_kernels->copy(at[1], stride[1], at[0], stride[0], rows, row_bytes);
      },
      Side{const_cast<std::byte*>(base), layout}, position, bytes, to);
}

void unpack(std::byte* base, Layout const& layout, std::size_t position, std::byte const* from,
            std::size_t bytes) noexcept {
  if (layout.is_contiguous()) return copy_bytes(base + position, from, bytes);
  walk_part(copy_rows, Side{base, layout}, position, bytes, const_cast<std::byte*>(from));
}

}  // namespace mpixrma::engine
