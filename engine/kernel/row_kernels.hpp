/// The inner loops, one table per instruction set.
#pragma once

#include <cstddef>

#include "engine/kernel/types.hpp"

namespace mpix::engine {

/// `rows` runs of `bytes` contiguous bytes each, whose starts are a stride apart on either side.
using CopyRows = void (*)(std::byte* to, std::ptrdiff_t to_stride, std::byte const* from,
                          std::ptrdiff_t from_stride, std::size_t rows, std::size_t bytes) noexcept;
/// The same with an operation on each element; `scale` only in the table of scaled kernels.
using CombineRows = void (*)(std::byte* to, std::ptrdiff_t to_stride, std::byte const* from,
                             std::ptrdiff_t from_stride, std::size_t rows, std::size_t bytes,
                             void const* scale) noexcept;

struct RowKernels {
  CopyRows copy;
  /// Null where the pair is not defined.
  CombineRows combine[static_cast<std::size_t>(ElementType::count_)]
                     [static_cast<std::size_t>(Operation::count_)];
  CombineRows scaled_sum[static_cast<std::size_t>(ElementType::count_)];
};

RowKernels const& row_kernels_baseline() noexcept;
RowKernels const& row_kernels_x86_64_v3() noexcept;
RowKernels const& row_kernels_x86_64_v4() noexcept;

/// The best table for this processor, chosen when the library is loaded.
extern RowKernels const* const active_kernels;

}  // namespace mpix::engine
