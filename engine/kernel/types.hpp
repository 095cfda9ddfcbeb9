/// Element types and operations that the kernels know. Values travel on the wire: append only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mpix::engine {

enum class ElementType : std::uint8_t {
  none = 0,  ///< untyped bytes; only replace and no_op
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
  // Value and index, laid out as the C struct of MPI's pair types; only minloc and maxloc.
  float_int,
  double_int,
  long_int,
  int_int,
  short_int,
  long_double_int,
  count_
};

enum class Operation : std::uint8_t {
  replace = 0,
  no_op,
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
  count_
};

/// Read-modify-write operations. `operand` is the first, `operand2` the second operand.
enum class RmwOperation : std::uint8_t {
  increment = 0,  ///< target + 1; the operand is ignored
  sum,
  prod,
  land,
  lor,
  lxor,
  band,
  bor,
  bxor,
  swap,
  mask_swap,  ///< bits set in operand are taken from operand2
  compare_swap_lt,
  compare_swap_le,
  compare_swap_eq,
  compare_swap_ge,
  compare_swap_gt,
  compare_swap_ne,
  ///< operand (relation) target ? target = operand2
  count_
};

/// sizeof the C type, 0 for `none` and out-of-range values.
std::size_t element_size(ElementType type) noexcept;

/// Whether the CPU updates an aligned element of this type in one atomic instruction or compare-and-swap
/// loop: integers, logicals and bytes of 1, 2, 4 and 8 bytes.
constexpr bool has_cpu_atomics(ElementType type) noexcept {
  return type <= ElementType::uint64 || type == ElementType::boolean;
}

/// Whether MPI defines `operation` for `type` (and so the kernels accept the pair).
bool is_defined(Operation operation, ElementType type) noexcept;
bool is_defined(RmwOperation operation, ElementType type) noexcept;

}  // namespace mpix::engine
