#include "engine/kernel/types.hpp"

#include <algorithm>

#include "engine/kernel/element.hpp"
#include "engine/kernel/kernels.hpp"

namespace mpix::engine {

namespace {

constexpr auto types = static_cast<std::size_t>(ElementType::count_);

struct Sizes {
  std::size_t of[types];
};

template <std::size_t type = 0>
constexpr void fill_sizes(Sizes& sizes) {
  sizes.of[type] = type == 0 ? 0 : sizeof(typename ElementOf<static_cast<ElementType>(type)>::Type);
  if constexpr (type + 1 < types) fill_sizes<type + 1>(sizes);
}

constexpr Sizes sizes = [] {
  Sizes made{};
  fill_sizes(made);
  return made;
}();

// So that nobody has to divide by one.
static_assert(std::ranges::all_of(sizes.of, [](std::size_t size) { return (size & (size - 1)) == 0; }));

}  // namespace

std::size_t element_size(ElementType type) noexcept {
  return static_cast<std::size_t>(type) < types ? sizes.of[static_cast<std::size_t>(type)] : 0;
}

bool is_defined(Operation operation, ElementType type) noexcept {
  return operation < Operation::count_ && static_cast<std::size_t>(type) < types && defined(operation, type);
}

bool is_valid(Reduction const& reduction) noexcept {
  if (!is_defined(reduction.operation, reduction.type)) return false;
  return reduction.scale == nullptr || reduction.operation == Operation::sum;
}

}  // namespace mpix::engine
