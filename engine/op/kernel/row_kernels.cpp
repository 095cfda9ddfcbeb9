/// Compiled once per instruction set (MPIX_KERNEL_SET). Nothing here may be shared between the copies: the
/// linker must not keep a function compiled for AVX-512 for all of them.
#include "engine/op/kernel/row_kernels.hpp"

#ifdef __AVX512F__
#include <immintrin.h>
#endif

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "engine/op/kernel/element.hpp"
#include "engine/op/kernel/vector_copy.hpp"

#define MPIX_JOIN2(a, b) a##b
#define MPIX_JOIN(a, b) MPIX_JOIN2(a, b)

/// The iterations of the next loop access different elements: it may be vectorised without pointer checks.
#ifdef __clang__
#define MPIX_INDEPENDENT_ITERATIONS _Pragma("clang loop vectorize(assume_safety)")
#else
#define MPIX_INDEPENDENT_ITERATIONS _Pragma("GCC ivdep")
#endif

namespace mpixrma::engine {
namespace {

/// A T at an unaligned address.
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
    // Words by single stores, which the C library does not guarantee for any size.
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
        bytes < min_table_copy_bytes ? (void)__builtin_memcpy(to, from, bytes)
                                     : copy_by_table(to, from, bytes);
      }
  }
}

/// Applies `f` to each pair of elements of a row. Goes through a long row of numbers from the end to the
/// beginning, block by block, if in the other direction the stores would delay the loads
/// (stores_delay_loads()).
template <typename T, typename F>
inline void for_row(Unaligned<T>* a, Unaligned<T> const* b, std::size_t count, F f) noexcept {
  constexpr std::size_t block = 256 / sizeof(T);
  if (std::is_arithmetic_v<T> && count >= 2 * block && stores_delay_loads(a, b)) {
    while (count >= block) {
      count -= block;
      MPIX_INDEPENDENT_ITERATIONS
      for (std::size_t i = count; i < count + block; ++i) a[i].value = f(a[i].value, b[i].value);
    }
  }
  MPIX_INDEPENDENT_ITERATIONS
  for (std::size_t i = 0; i < count; ++i) a[i].value = f(a[i].value, b[i].value);
}

/// Applies `f` to each pair of elements. The short rows of strided transfers get loops of constant length.
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

template <ElementType type, ReduceOp operation>
[[gnu::noinline]] void combine_several_rows(std::byte* to, std::ptrdiff_t to_stride, std::byte const* from,
                                            std::ptrdiff_t from_stride, std::size_t rows,
                                            std::size_t bytes) noexcept {
  using T = typename ElementOf<type>::Type;
  for_elements<T>(to, to_stride, from, from_stride, rows, bytes,
                  [](T a, T b) { return next_value<operation>(a, b, b); });
}

template <ElementType type, ReduceOp operation>
void combine_rows(std::byte* to, std::ptrdiff_t to_stride, std::byte const* from, std::ptrdiff_t from_stride,
                  std::size_t rows, std::size_t bytes, void const*) noexcept {
  if constexpr (operation == ReduceOp::replace) {
    copy_rows(to, to_stride, from, from_stride, rows, bytes);
  } else if constexpr (operation != ReduceOp::no_op) {
    using T = typename ElementOf<type>::Type;
    if constexpr (operand_count(operation) == 0) {
      from = to;
      from_stride = to_stride;
    }
    // The most frequent update, which takes less time without the registers of the loop over rows.
    if constexpr (operation == ReduceOp::sum) {
      if (rows == 1)
        return for_row(reinterpret_cast<Unaligned<T>*>(to), reinterpret_cast<Unaligned<T> const*>(from),
                       bytes / sizeof(T), [](T a, T b) { return add(a, b); });
    }
    combine_several_rows<type, operation>(to, to_stride, from, from_stride, rows, bytes);
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

/// Adds elements, or vectors of them.
struct Sum {
  template <typename T>
  T operator()(T const& a, T const& b, T const&) const noexcept {
    return add(a, b);
  }
};

#ifdef __AVX512F__
/// Stores a sequence of lines to a 4-byte-aligned address by cache-line-aligned stores, of which the first
/// and the last are masked.
class LineStream {
 public:
  explicit LineStream(void* to) noexcept
      : words_(reinterpret_cast<std::uintptr_t>(to) % 64 / 4),
        to_(static_cast<std::byte*>(to) - 4 * words_),
        from_(_mm512_add_epi32(_mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
                               _mm512_set1_epi32(static_cast<int>(16 - words_)))) {}

  void begin(__m512i line) noexcept { store_some(~0u << words_, line); }
  void store(__m512i line) noexcept {
    _mm512_store_si512(to_, _mm512_permutex2var_epi32(last_, from_, line));
    advance(line);
  }
  void end() noexcept { store_some(~(~0u << words_), last_); }

 private:
  void store_some(unsigned words, __m512i line) noexcept {
    _mm512_mask_store_epi32(to_, static_cast<__mmask16>(words),
                            _mm512_permutex2var_epi32(last_, from_, line));
    advance(line);
  }
  void advance(__m512i line) noexcept {
    last_ = line;
    to_ += 64;
  }

  std::size_t words_;  ///< offset in words of the first line from a line boundary
  std::byte* to_;      ///< line-aligned
  __m512i from_;
  __m512i last_ = _mm512_setzero_si512();
};

/// A cache line of elements. Integers wrap around.
template <typename T>
struct VectorOf {
  typedef T Type __attribute__((vector_size(64)));
};
template <std::integral T>
struct VectorOf<T> {
  typedef std::make_unsigned_t<T> Type __attribute__((vector_size(64)));
};

template <typename V>
inline V load_as(void const* from) noexcept {
  V values;
  __builtin_memcpy(&values, from, sizeof values);
  return values;
}

/// Does update_elements() with a fetch for whole cache lines of the target, at least one; returns the number
/// of elements. Stores that cross cache lines take twice as long, and every unaligned store of a line-sized
/// vector would cross them.
template <typename T, typename F>
inline std::size_t update_lines(Unaligned<T>* target, Unaligned<T> const* b, Unaligned<T>* result,
                                std::size_t count, F f) noexcept {
  constexpr std::size_t line = 64 / sizeof(T);
  using Elements = typename VectorOf<T>::Type;
  auto const update = [=](std::size_t at) {
    Elements const old = load_as<Elements>(target + at);
    if constexpr (std::is_same_v<F, Sum>) {
      Elements const operands = load_as<Elements>(b + at);
      Elements const next = f(old, operands, operands);
      __builtin_memcpy(target + at, &next, sizeof next);
    } else {
      Unaligned<T>* const elements = target + at;
      Unaligned<T> const* const operands = b + at;
      // Unrolling would split the vector.
#pragma GCC unroll 1
      MPIX_INDEPENDENT_ITERATIONS
      for (std::size_t i = 0; i < line; ++i)
        elements[i].value = f(elements[i].value, operands[i].value, operands[i].value);
    }
    return reinterpret_cast<__m512i>(old);
  };
  LineStream results(result);
  results.begin(update(0));
  std::size_t at = line;
  for (; count - at >= line; at += line) results.store(update(at));
  results.end();
  return at;
}

/// Whether update_lines() is possible and worthwhile: the row is long, and no choice of the first element
/// aligns both streams of stores to cache lines.
template <typename T>
inline bool needs_lines(void const* target, void const* result, std::size_t count) noexcept {
  constexpr std::size_t shortest = 512;
  auto const to = reinterpret_cast<std::uintptr_t>(target);
  auto const results = reinterpret_cast<std::uintptr_t>(result);
  return count * sizeof(T) >= shortest && to % sizeof(T) == 0 && results % 4 == 0 && (to - results) % 64 != 0;
}
#endif

/// Sets each element to f(element, origin, operand2). `operands` of 1 or 0 leaves operand2 or both unread.
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
  auto const update = [=](std::size_t begin, std::size_t end) {
    MPIX_INDEPENDENT_ITERATIONS
    for (std::size_t i = begin; i < end; ++i) {
      T const old = target[i].value;
      // Copies: a function may take references, which must be aligned.
      T const operand = b[i].value;
      T const operand2 = c[i].value;
      target[i].value = f(old, operand, operand2);
      if constexpr (fetch) result[i].value = old;
    }
  };
  std::size_t done = 0;
#ifdef __AVX512F__
  if constexpr (fetch && operands < 2 && std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8)) {
    if (needs_lines<T>(target, result, count)) {
      std::size_t const before = -reinterpret_cast<std::uintptr_t>(target) % 64 / sizeof(T);
      update(0, before);
      done = before + update_lines(target + before, b + before, result + before, count - before, f);
    }
  }
#endif
  update(done, count);
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

template <ElementType type, ReduceOp operation>
void update_rows(Rows const& rows) noexcept {
  using T = typename ElementOf<type>::Type;
  constexpr unsigned operands = operand_count(operation);
  auto const next = [](T a, T b, T c) { return next_value<operation>(a, b, c); };
  if constexpr (operation == ReduceOp::sum) {
    for_rows<T, operands, true>(rows, Sum{});
  } else if constexpr (operation == ReduceOp::no_op) {
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

constexpr bool depends_on_sign(ReduceOp operation) noexcept {
  switch (operation) {
    case ReduceOp::min:
    case ReduceOp::max:
    case ReduceOp::compare_swap_lt:
    case ReduceOp::compare_swap_le:
    case ReduceOp::compare_swap_ge:
    case ReduceOp::compare_swap_gt: return true;
    default: return false;
  }
}

/// Returns a type whose kernel computes the same bits; sharing kernels halves the number to compile.
constexpr ElementType kernel_type(ElementType type, ReduceOp operation) noexcept {
  using enum ElementType;
  bool const moves = operation == ReduceOp::replace || operation == ReduceOp::no_op;
  switch (type) {
    case none:
    case boolean: return uint8;
    case int8: return depends_on_sign(operation) ? type : uint8;
    case int16: return depends_on_sign(operation) ? type : uint16;
    case int32: return depends_on_sign(operation) ? type : uint32;
    case int64: return depends_on_sign(operation) ? type : uint64;
    case float32: return moves ? uint32 : type;
    case float64:
    case complex_float: return moves ? uint64 : type;
    default: return type;
  }
}

constexpr RowKernels make_table() {
  RowKernels table{};
  table.copy = &copy_rows;
#ifdef __AVX2__
  table.copy_vectors = &VectorCopy::run;
#endif
  for_every_pair([&]<ElementType type, ReduceOp operation> {
    if constexpr (defined(operation, type)) {
      constexpr auto row = static_cast<std::size_t>(type);
      constexpr auto column = static_cast<std::size_t>(operation);
      constexpr ElementType kernel = kernel_type(type, operation);
      table.update.of[row][column] = &update_rows<kernel, operation>;
      if constexpr (operand_count(operation) < 2)
        table.combine.of[row][column] = &combine_rows<kernel, operation>;
      if constexpr (operation == ReduceOp::sum) {
        table.update.scaled_sum[row] = &scaled_update_rows<kernel>;
        table.combine.scaled_sum[row] = &scaled_sum_rows<kernel>;
      }
    }
  });
  return table;
}

constexpr RowKernels kernels = make_table();

}  // namespace

RowKernels const& MPIX_JOIN(row_kernels_, MPIX_KERNEL_SET)() noexcept { return kernels; }

}  // namespace mpixrma::engine
