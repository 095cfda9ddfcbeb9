/// The inner loops of copies and updates: one table per instruction set, and one for the CPU's atomics.
#pragma once

#include <cstddef>
#include <utility>

#include "engine/op/kernel/types.hpp"

namespace mpixrma::engine {

inline constexpr auto type_count = static_cast<std::size_t>(ElementType::count_);
inline constexpr auto operation_count = static_cast<std::size_t>(ReduceOp::count_);

/// Copies `rows` runs of `bytes` contiguous bytes each, whose starts are a stride apart on either side.
using CopyRows = void (*)(std::byte* to, std::ptrdiff_t to_stride, std::byte const* from,
                          std::ptrdiff_t from_stride, std::size_t rows, std::size_t bytes) noexcept;
/// As CopyRows, applying an operation with at most one operand to each element, without a fetch; `scale` is
/// used by the kernels of scaled sums only. `from` is not read if the operation has no operand.
using CombineRows = void (*)(std::byte* to, std::ptrdiff_t to_stride, std::byte const* from,
                             std::ptrdiff_t from_stride, std::size_t rows, std::size_t bytes,
                             void const* scale) noexcept;

/// Rows of every side of an update.
struct Rows {
  std::byte* target;
  std::ptrdiff_t target_stride;
  std::byte const* origin;
  std::byte const* operand2;  ///< not read if the operation has no second operand
  std::ptrdiff_t origin_stride;
  std::byte* result;  ///< null: no fetch, which only kernels with two operands permit
  std::ptrdiff_t result_stride;
  std::size_t count;
  std::size_t bytes;  ///< size of each
  void const* scale;
};
using UpdateRows = void (*)(Rows const& rows) noexcept;

/// Updates `count` elements at naturally aligned addresses of the target, each by the CPU's atomic
/// operations, which are sequentially consistent. `result` may be null.
using UpdateAtomically = void (*)(std::byte* target, std::byte const* origin, std::byte const* operand2,
                                  std::byte* result, std::size_t count, void const* scale) noexcept;

/// Kernels by type and operation; null if the pair is undefined or has no such kernel.
template <typename Kernel>
struct KernelTable {
  Kernel of[type_count][operation_count] = {};
  Kernel scaled_sum[type_count] = {};

  constexpr Kernel get(ElementType type, ReduceOp operation, bool scaled) const noexcept {
    auto const index = static_cast<std::size_t>(type);
    return scaled ? scaled_sum[index] : of[index][static_cast<std::size_t>(operation)];
  }
};

/// A contiguous copy of at least 256 bytes.
using CopyVectors = void (*)(std::byte* to, std::byte const* from, std::size_t bytes) noexcept;

/// Shorter copies do not use the table of methods.
inline constexpr std::size_t min_table_copy_bytes = 2048;

/// Copies at least min_table_copy_bytes bytes by the method that the table in use has for them
/// (engine/op/kernel/copy_methods.hpp).
void copy_by_table(std::byte* to, std::byte const* from, std::size_t bytes) noexcept;

struct RowKernels {
  CopyRows copy = nullptr;
  CopyVectors copy_vectors = nullptr;  ///< null: the instruction set has no such vectors
  KernelTable<CombineRows> combine;    ///< operations with at most one operand, without a fetch
  KernelTable<UpdateRows> update;      ///< operations with a fetch or with two operands
};

RowKernels const& row_kernels_baseline() noexcept;
RowKernels const& row_kernels_x86_64_v3() noexcept;
RowKernels const& row_kernels_x86_64_v4() noexcept;

/// The best table for this processor, chosen when the library is loaded.
extern RowKernels const* const active_kernels;

/// For the types with has_cpu_atomics.
extern KernelTable<UpdateAtomically> const atomic_kernels;

/// Calls fill.operator()<type, operation>() with every pair of the enumerations.
template <typename Fill>
constexpr void for_every_pair(Fill fill) {
  auto const fill_type = [&]<std::size_t type, std::size_t... operation>(std::index_sequence<operation...>) {
    (fill.template operator()<static_cast<ElementType>(type), static_cast<ReduceOp>(operation)>(), ...);
  };
  [&]<std::size_t... type>(std::index_sequence<type...>) {
    (fill_type.template operator()<type>(std::make_index_sequence<operation_count>()), ...);
  }
  (std::make_index_sequence<type_count>());
}

}  // namespace mpixrma::engine
