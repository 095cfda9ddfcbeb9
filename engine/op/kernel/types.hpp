/// Element types and operations of the kernels. The values are sent in messages: append only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mpixrma::engine {

enum class ElementType : std::uint8_t {
  none = 0,  ///< untyped bytes; replace, no_op, and operations that compare for equality or combine bits
  int8,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  float32,
  float64,
  long_double,
  complex_float,
  complex_double,
  complex_long_double,
  boolean,  ///< C bool, one byte
  // Value and index; replace, no_op, minloc, maxloc. Padding of the C struct is a gap of the layout, no data.
  float_int,
  double_int,
  long_int,
  int_int,
  short_int,
  long_double_int,
  // Fortran types without a C equivalent.
  float128,
  complex_float128,
  float_float,    ///< value and index, the index as a number of the same type
  double_double,  ///< value and index, the index as a number of the same type
  count_
};

/// The function by which an update changes an element. `origin` is the first, `operand2` the second operand.
enum class ReduceOp : std::uint8_t {
  replace = 0,  ///< a swap if the previous value is fetched
  no_op,        ///< leaves the element unchanged; the operand is ignored
  sum,
  prod,
  min,
  max,
  land,
  lor,
  lxor,
  band,
  bor,
  bxor,
  minloc,
  maxloc,
  increment,  ///< target + 1; the operand is ignored
  mask_swap,  ///< bits set in origin are taken from operand2
  compare_swap_lt,
  compare_swap_le,
  compare_swap_eq,
  compare_swap_ge,
  compare_swap_gt,
  compare_swap_ne,  ///< all six: if origin (relation) target, then target = operand2
  count_
};

/// Whether an update returns the previous value to its origin.
enum class Fetch : bool { no, yes };

/// Returns the number of operands that the operation takes from the origin: 0, 1 or 2.
constexpr unsigned operand_count(ReduceOp operation) noexcept {
  static_assert(ReduceOp::count_ == ReduceOp{22}, "the operations from mask_swap on have two operands");
  if (operation == ReduceOp::no_op || operation == ReduceOp::increment) return 0;
  return operation >= ReduceOp::mask_swap ? 2 : 1;
}

/// The properties of each type.
struct TypeTable {
  static constexpr auto types = static_cast<std::size_t>(ElementType::count_);
  std::uint8_t size[types];         ///< data bytes; 0 for `none`
  std::uint32_t operations[types];  ///< bit i: the operation with number i is defined
};
extern TypeTable const type_table;

/// Returns the data bytes of an element, a power of two except for pairs; 0 for `none` and out-of-range
/// values.
inline std::size_t element_size(ElementType type) noexcept {
  return type < ElementType::count_ ? type_table.size[static_cast<std::size_t>(type)] : 0;
}

/// Whether the CPU updates an aligned element of this type in one atomic instruction or compare-and-swap
/// loop: integers of 1 to 8 bytes, logicals and untyped bytes.
constexpr bool has_cpu_atomics(ElementType type) noexcept {
  return type <= ElementType::uint64 || type == ElementType::boolean;
}

/// Whether `operation` is defined for `type`, so that the kernels accept the pair.
inline bool is_defined(ReduceOp operation, ElementType type) noexcept {
  if (operation >= ReduceOp::count_ || type >= ElementType::count_) return false;
  return (type_table.operations[static_cast<std::size_t>(type)] >> static_cast<unsigned>(operation) & 1) != 0;
}

}  // namespace mpixrma::engine
