/// Compiled once per instruction set (MPIX_KERNEL_SET). Nothing here may be shared between the copies:
/// a function compiled for AVX-512 must not be the one that the linker keeps for everybody.
#include "engine/kernel/row_kernels.hpp"

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

/// Applies `f` to each pair of elements. The short rows of strided transfers get loops of known length.
template <typename T, typename F>
inline void for_elements(std::byte* to, std::ptrdiff_t to_stride, std::byte const* from,
                         std::ptrdiff_t from_stride, std::size_t rows, std::size_t bytes, F f) noexcept {
  auto const row_of = [&](std::size_t count) {
    auto* const a = reinterpret_cast<Unaligned<T>*>(to);
    auto const* const b = reinterpret_cast<Unaligned<T> const*>(from);
    MPIX_INDEPENDENT_ITERATIONS
    for (std::size_t i = 0; i < count; ++i) a[i].value = f(a[i].value, b[i].value);
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
    for_elements<T>(to, to_stride, from, from_stride, rows, bytes,
                    [](T a, T b) { return combine<operation>(a, b); });
  }
}

template <ElementType type>
void scaled_sum_rows(std::byte* to, std::ptrdiff_t to_stride, std::byte const* from,
                     std::ptrdiff_t from_stride, std::size_t rows, std::size_t bytes,
                     void const* scale) noexcept {
  using T = typename ElementOf<type>::Type;
  T factor;
  __builtin_memcpy(&factor, scale, sizeof factor);
  for_elements<T>(to, to_stride, from, from_stride, rows, bytes,
                  [factor](T a, T b) { return add(a, multiply(factor, b)); });
}

template <ElementType type, std::size_t operation = 0>
constexpr void fill(RowKernels& table) {
  constexpr auto op = static_cast<Operation>(operation);
  if constexpr (defined(op, type))
    table.combine[static_cast<std::size_t>(type)][operation] = &combine_rows<type, op>;
  if constexpr (op == Operation::sum && defined(op, type)) {
    table.scaled_sum[static_cast<std::size_t>(type)] = &scaled_sum_rows<type>;
  }
  if constexpr (operation + 1 < static_cast<std::size_t>(Operation::count_)) fill<type, operation + 1>(table);
}

template <std::size_t type = 0>
constexpr void fill_types(RowKernels& table) {
  fill<static_cast<ElementType>(type)>(table);
  if constexpr (type + 1 < static_cast<std::size_t>(ElementType::count_)) fill_types<type + 1>(table);
}

constexpr RowKernels make_table() {
  RowKernels table{};
  table.copy = &copy_rows;
  fill_types(table);
  return table;
}

constexpr RowKernels kernels = make_table();

}  // namespace

RowKernels const& MPIX_JOIN(row_kernels_, MPIX_KERNEL_SET)() noexcept { return kernels; }

}  // namespace mpix::engine
