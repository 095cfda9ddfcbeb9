#include "engine/op/kernel/types.hpp"

#include "engine/op/kernel/element.hpp"
#include "engine/op/kernel/kernels.hpp"

namespace mpixrma::engine {

namespace {

template <std::size_t type = 0>
constexpr void fill(TypeTable& table) {
  constexpr auto element = static_cast<ElementType>(type);
  table.size[type] = type == 0 ? 0 : sizeof(typename ElementOf<element>::Type);
  for (unsigned operation = 0; operation < static_cast<unsigned>(ReduceOp::count_); ++operation)
    table.operations[type] |= std::uint32_t{defined(static_cast<ReduceOp>(operation), element)} << operation;
  if constexpr (type + 1 < TypeTable::types) fill<type + 1>(table);
}

constexpr TypeTable made = [] {
  TypeTable table{};
  fill(table);
  return table;
}();

// Sizes are powers of two, so that no division is needed unless the type is a pair.
static_assert([] {
  for (std::size_t type = 0; type < TypeTable::types; ++type) {
    bool const is_pair = class_of(static_cast<ElementType>(type)) == Class::pair;
    if (!is_pair && (made.size[type] & (made.size[type] - 1)) != 0) return false;
  }
  return true;
}());

}  // namespace

TypeTable const type_table = made;

bool is_valid(Reduction const& reduction) noexcept {
  if (!is_defined(reduction.operation, reduction.type)) return false;
  return reduction.scale == nullptr || reduction.operation == ReduceOp::sum;
}

}  // namespace mpixrma::engine
