/// Compiled once per instruction set (MPIX_KERNEL_SET). Nothing here may be shared between the copies:
/// a function compiled for AVX-512 must not be the one that the linker keeps for everybody.
#include "engine/kernel/row_kernels.hpp"

#include <cstdint>
#include <type_traits>

#include "engine/kernel/element.hpp"

#define MPIX_JOIN2(a, b) a##b
#define MPIX_JOIN(a, b) MPIX_JOIN2(a, b)

/// The next loop's iterations touch different elements: it may be vectorised without a look at the pointers.
#ifdef __clang__
#define MPIX_INDEPENDENT_ITERATIONS _Pragma("clang loop vectorize(assume_safety)")
#else
#define MPIX_INDEPENDENT_ITERATIONS _Pragma("GCC ivdep")
#endif

namespace mpix::engine {
namespace {

/// A T at any address.
template <typename T>
struct __attribute__((packed, may_alias)) Unaligned {
  T value;
};

template <std::size_t bytes>
void copy_fixed(std::byte* to, std::ptrdiff_t to_stride, std::byte const* from, std::ptrdiff_t from_stride,
                std::size_t rows) noexcept {
  for (std::size_t row = 0; row < rows; ++row, to += to_stride, from += from_stride)
    __builtin_memcpy(to, from, bytes);
}

void copy_rows(std::byte* to, std::ptrdiff_t to_stride, std::byte const* from, std::ptrdiff_t from_stride,
               std::size_t rows, std::size_t bytes) noexcept {
  switch (bytes) {
    // Words by single stores, which the C library promises for no size.
    case 1: return copy_fixed<1>(to, to_stride, from, from_stride, rows);
    case 2: return copy_fixed<2>(to, to_stride, from, from_stride, rows);
    case 4: return copy_fixed<4>(to, to_stride, from, from_stride, rows);
    case 8: return copy_fixed<8>(to, to_stride, from, from_stride, rows);
    case 16: return copy_fixed<16>(to, to_stride, from, from_stride, rows);
    case 24: return copy_fixed<24>(to, to_stride, from, from_stride, rows);
    case 32: return copy_fixed<32>(to, to_stride, from, from_stride, rows);
    case 64: return copy_fixed<64>(to, to_stride, from, from_stride, rows);
    case 128: return copy_fixed<128>(to, to_stride, from, from_stride, rows);
    default:
      for (std::size_t row = 0; row < rows; ++row, to += to_stride, from += from_stride) {
        __builtin_memcpy(to, from, bytes);
      }
  }
}

/// Whether the stores of a row hold up the loads of `from` that follow shortly: the processor takes those for
/// loads of what was just stored whose addresses agree in the low 12 bits.
inline bool holds_up(void const* to, void const* from) noexcept {
  std::uintptr_t const ahead =
      (reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from)) % 4096;
  return ahead != 0 && ahead < 2048;
}

/// Applies `f` to each pair of elements of a row; from the end to the beginning, block by block, where the
/// other way the stores would hold up the loads.
template <typename T, typename F>
inline void for_row(Unaligned<T>* a, Unaligned<T> const* b, std::size_t count, F f) noexcept {
  constexpr std::size_t block = 256 / sizeof(T);
  if (std::is_arithmetic_v<T> && count >= 2 * block && holds_up(a, b)) {
    while (count >= block) {
      count -= block;
      MPIX_INDEPENDENT_ITERATIONS
      for (std::size_t i = count; i < count + block; ++i) a[i].value = f(a[i].value, b[i].value);
    }
  }
  MPIX_INDEPENDENT_ITERATIONS
  for (std::size_t i = 0; i < count; ++i) a[i].value = f(a[i].value, b[i].value);
}

/// Applies `f` to each pair of elements. The short rows of strided transfers get loops of known length.
template <typename T, typename F>
inline void for_elements(std::byte* to, std::ptrdiff_t to_stride, std::byte const* from,
                         std::ptrdiff_t from_stride, std::size_t rows, std::size_t bytes, F f) noexcept {
  auto const row_of = [&](std::size_t count) {
    for_row(reinterpret_cast<Unaligned<T>*>(to), reinterpret_cast<Unaligned<T> const*>(from), count, f);
    to += to_stride;
    from += from_stride;
  };
  std::size_t const count = bytes / sizeof(T);
  switch (count) {
    case 1:
      for (std::size_t row = 0; row < rows; ++row) row_of(1);
      return;
    case 2:
      for (std::size_t row = 0; row < rows; ++row) row_of(2);
      return;
    default:
      for (std::size_t row = 0; row < rows; ++row) row_of(count);
  }
}

template <ElementType type, Operation operation>
void combine_rows(std::byte* to, std::ptrdiff_t to_stride, std::byte const* from, std::ptrdiff_t from_stride,
                  std::size_t rows, std::size_t bytes, void const*) noexcept {
  if constexpr (operation == Operation::replace) {
    copy_rows(to, to_stride, from, from_stride, rows, bytes);
  } else if constexpr (operation != Operation::no_op) {
    using T = typename ElementOf<type>::Type;
    constexpr bool reads_origin = operand_count(operation) > 0;
    for_elements<T>(to, to_stride, reads_origin ? from : to, reads_origin ? from_stride : to_stride, rows,
                    bytes, [](T a, T b) { return next_value<operation>(a, b, b); });
  }
}

template <typename T>
T load_scale(void const* scale) noexcept {
  T factor;
  __builtin_memcpy(&factor, scale, sizeof factor);
  return factor;
}

template <ElementType type>
void scaled_sum_rows(std::byte* to, std::ptrdiff_t to_stride, std::byte const* from,
                     std::ptrdiff_t from_stride, std::size_t rows, std::size_t bytes,
                     void const* scale) noexcept {
  using T = typename ElementOf<type>::Type;
  T const factor = load_scale<T>(scale);
  for_elements<T>(to, to_stride, from, from_stride, rows, bytes,
                  [factor](T a, T b) { return add(a, multiply(factor, b)); });
}

/// Sets each element to f(element, origin, operand2), of which only the first `operands` are read.
template <typename T, unsigned operands, bool fetch, typename F>
inline void update_elements(Rows const& rows, std::size_t row, std::size_t count, F f) noexcept {
  auto const at = static_cast<std::ptrdiff_t>(row);
  auto* const target = reinterpret_cast<Unaligned<T>*>(rows.target + at * rows.target_stride);
  auto const* b = target;
  auto const* c = target;
  if constexpr (operands > 0)
    b = reinterpret_cast<Unaligned<T>*>(const_cast<std::byte*>(rows.origin) + at * rows.origin_stride);
  if constexpr (operands > 1)
    c = reinterpret_cast<Unaligned<T>*>(const_cast<std::byte*>(rows.operand2) + at * rows.origin_stride);
  [[maybe_unused]] auto* const result =
      fetch ? reinterpret_cast<Unaligned<T>*>(rows.result + at * rows.result_stride) : nullptr;
  MPIX_INDEPENDENT_ITERATIONS
  for (std::size_t i = 0; i < count; ++i) {
    T const old = target[i].value;
    target[i].value = f(old, b[i].value, c[i].value);
    if constexpr (fetch) result[i].value = old;
  }
}

template <typename T, unsigned operands, bool fetch, typename F>
inline void for_rows(Rows const& rows, F f) noexcept {
  std::size_t const count = rows.bytes / sizeof(T);
  if (count == 1) {
    for (std::size_t row = 0; row < rows.count; ++row) update_elements<T, operands, fetch>(rows, row, 1, f);
  } else {
    for (std::size_t row = 0; row < rows.count; ++row)
      update_elements<T, operands, fetch>(rows, row, count, f);
  }
}

template <ElementType type, Operation operation>
void update_rows(Rows const& rows) noexcept {
  using T = typename ElementOf<type>::Type;
  constexpr unsigned operands = operand_count(operation);
  auto const next = [](T a, T b, T c) { return next_value<operation>(a, b, c); };
  if constexpr (operation == Operation::no_op) {
    copy_rows(rows.result, rows.result_stride, rows.target, rows.target_stride, rows.count, rows.bytes);
  } else if constexpr (operands == 2) {
    rows.result != nullptr ? for_rows<T, 2, true>(rows, next) : for_rows<T, 2, false>(rows, next);
  } else {
    for_rows<T, operands, true>(rows, next);
  }
}

template <ElementType type>
void scaled_update_rows(Rows const& rows) noexcept {
  using T = typename ElementOf<type>::Type;
  T const factor = load_scale<T>(rows.scale);
  for_rows<T, 1, true>(rows, [factor](T a, T b, T) { return add(a, multiply(factor, b)); });
}

constexpr RowKernels make_table() {
  RowKernels table{};
  table.copy = &copy_rows;
  for_every_pair([&]<ElementType type, Operation operation> {
    if constexpr (defined(operation, type)) {
      constexpr auto row = static_cast<std::size_t>(type);
      constexpr auto column = static_cast<std::size_t>(operation);
      table.update.of[row][column] = &update_rows<type, operation>;
      if constexpr (operand_count(operation) < 2)
        table.combine.of[row][column] = &combine_rows<type, operation>;
      if constexpr (operation == Operation::sum) {
        table.update.scaled_sum[row] = &scaled_update_rows<type>;
        table.combine.scaled_sum[row] = &scaled_sum_rows<type>;
      }
    }
  });
  return table;
}

constexpr RowKernels kernels = make_table();

}  // namespace

RowKernels const& MPIX_JOIN(row_kernels_, MPIX_KERNEL_SET)() noexcept { return kernels; }

}  // namespace mpix::engine
