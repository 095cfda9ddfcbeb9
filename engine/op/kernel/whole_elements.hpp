/// Element boundaries, at which data may be split and runs of a layout may end.
#pragma once

#include <cstddef>

#include "engine/op/kernel/types.hpp"
#include "engine/op/layout/layout.hpp"

namespace mpixrma::engine {

/// Whether the C struct has padding between value and index, so that an element in memory consists of two
/// runs. A run may then end within an element.
constexpr bool has_inner_gap(ElementType type) noexcept { return type == ElementType::short_int; }

/// Whether every run of the layout contains whole elements, if the type requires that.
inline bool has_whole_elements(Layout const& layout, ElementType type) noexcept {
  return has_inner_gap(type) || layout.has_whole(element_size(type));
}

/// Returns the data bytes of the whole elements in `bytes` bytes.
inline std::size_t whole_elements(ElementType type, std::size_t bytes) noexcept {
  std::size_t const element = element_size(type);
  if ((element & (element - 1)) == 0) return element == 0 ? bytes : bytes & -element;
  return bytes - bytes % element;  // a pair
}

}  // namespace mpixrma::engine
