/// A model of updates on single elements, written independently of the kernels, with all element types.
#pragma once

#include <gtest/gtest.h>

#include <complex>
#include <cstddef>
#include <cstring>
#include <random>
#include <type_traits>

#include "engine/op/kernel/types.hpp"

namespace mpixrma::test {

/// As the C structs of MPI's pair types, without their padding.
template <typename V, typename I = int>
struct __attribute__((packed)) Pair {
  using Value = V;
  V value;
  I index;
};

#ifdef __SIZEOF_FLOAT128__
__extension__ typedef __float128 Quad;
#else
using Quad = long double;
#endif

template <typename T>
constexpr bool is_pair = requires {
  typename T::Value;
};
template <typename T>
constexpr bool is_complex = requires {
  typename T::value_type;
};
template <typename T>
constexpr bool is_integer = std::is_integral_v<T> && !std::is_same_v<T, bool>;
template <typename T>
constexpr bool is_byte = std::is_same_v<T, std::byte>;
template <typename T>
constexpr bool is_real = !is_pair<T> && !is_complex<T> && !is_byte<T> && !std::is_integral_v<T>;

template <engine::ElementType tag, typename C>
struct ElementCase {
  static constexpr engine::ElementType type = tag;
  using T = C;
};

using ElementCases = ::testing::Types<
    ElementCase<engine::ElementType::none, std::byte>, ElementCase<engine::ElementType::int8, std::int8_t>,
    ElementCase<engine::ElementType::uint8, std::uint8_t>,
    ElementCase<engine::ElementType::int16, std::int16_t>,
    ElementCase<engine::ElementType::uint16, std::uint16_t>,
    ElementCase<engine::ElementType::int32, std::int32_t>,
    ElementCase<engine::ElementType::uint32, std::uint32_t>,
    ElementCase<engine::ElementType::int64, std::int64_t>,
    ElementCase<engine::ElementType::uint64, std::uint64_t>, ElementCase<engine::ElementType::float32, float>,
    ElementCase<engine::ElementType::float64, double>,
    ElementCase<engine::ElementType::long_double, long double>,
    ElementCase<engine::ElementType::complex_float, std::complex<float>>,
    ElementCase<engine::ElementType::complex_double, std::complex<double>>,
    ElementCase<engine::ElementType::complex_long_double, std::complex<long double>>,
    ElementCase<engine::ElementType::boolean, bool>, ElementCase<engine::ElementType::float_int, Pair<float>>,
    ElementCase<engine::ElementType::double_int, Pair<double>>,
    ElementCase<engine::ElementType::long_int, Pair<long>>,
    ElementCase<engine::ElementType::int_int, Pair<int>>,
    ElementCase<engine::ElementType::short_int, Pair<short>>,
    ElementCase<engine::ElementType::long_double_int, Pair<long double>>,
    ElementCase<engine::ElementType::float128, Quad>,
    ElementCase<engine::ElementType::complex_float128, std::complex<Quad>>,
    ElementCase<engine::ElementType::float_float, Pair<float, float>>,
    ElementCase<engine::ElementType::double_double, Pair<double, double>>>;
static_assert(static_cast<int>(engine::ElementType::count_) == 26, "every type has its case");

template <typename T>
T load(std::byte const* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
template <typename T>
void store(std::byte* to, T const& value) {
  std::memcpy(to, &value, sizeof value);
}

/// Returns an element that often equals others, and for which a few additions and multiplications are exact.
template <typename T>
T random_element(std::mt19937_64& random) {
  if constexpr (is_pair<T>) {
    T made{};
    made.value = static_cast<typename T::Value>(random() % 5);
    made.index = static_cast<decltype(made.index)>(random() % 5);
    return made;
  } else if constexpr (std::is_same_v<T, bool>) {
    return random() % 2 == 0;
  } else if constexpr (is_byte<T>) {
    return static_cast<std::byte>(random() % 4 == 0 ? 7 : random());
  } else if constexpr (is_integer<T>) {
    return static_cast<T>(random() % 4 == 0 ? random() % 2 : random());
  } else if constexpr (is_complex<T>) {
    using R = typename T::value_type;
    return T(random_element<R>(random), random_element<R>(random));
  } else {
    return static_cast<T>(static_cast<int>(random() % 41) - 20) / 4;
  }
}

template <typename T>
bool same(T const& a, T const& b) {
  if constexpr (is_pair<T>) {
    return a.value == b.value && a.index == b.index;
  } else {
    return a == b;
  }
}

template <typename T>
bool is_defined_for(engine::ReduceOp operation) {
  using engine::ReduceOp;
  switch (operation) {
    case ReduceOp::replace:
    case ReduceOp::no_op: return true;
    case ReduceOp::sum:
    case ReduceOp::prod: return is_integer<T> || is_real<T> || is_complex<T>;
    case ReduceOp::min:
    case ReduceOp::max:
    case ReduceOp::increment:
    case ReduceOp::compare_swap_lt:
    case ReduceOp::compare_swap_le:
    case ReduceOp::compare_swap_ge:
    case ReduceOp::compare_swap_gt: return is_integer<T> || is_real<T>;
    case ReduceOp::land:
    case ReduceOp::lor:
    case ReduceOp::lxor: return is_integer<T> || std::is_same_v<T, bool>;
    case ReduceOp::band:
    case ReduceOp::bor:
    case ReduceOp::bxor: return is_integer<T> || is_byte<T>;
    case ReduceOp::minloc:
    case ReduceOp::maxloc: return is_pair<T>;
    case ReduceOp::mask_swap: return is_integer<T> || is_byte<T> || std::is_same_v<T, bool>;
    case ReduceOp::compare_swap_eq:
    case ReduceOp::compare_swap_ne: return !is_pair<T>;
    default: return false;
  }
}

template <typename T>
T plus(T a, T b) {
  if constexpr (is_integer<T>) {
    return static_cast<T>(static_cast<unsigned __int128>(a) + static_cast<unsigned __int128>(b));
  } else {
    return static_cast<T>(a + b);
  }
}

template <typename T>
T times(T a, T b) {
  if constexpr (is_integer<T>) {
    return static_cast<T>(static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b));
  } else {
    return static_cast<T>(a * b);
  }
}

template <typename T>
T located(engine::ReduceOp operation, T a, T b) {
  bool const low = operation == engine::ReduceOp::minloc;
  if (a.value == b.value) return {a.value, std::min(a.index, b.index)};
  return (a.value < b.value) == low ? a : b;
}

template <typename T>
T masked(T a, T b, T c) {
  if constexpr (std::is_same_v<T, bool>) {
    return b ? c : a;
  } else if constexpr (is_byte<T>) {
    return (c & b) | (a & ~b);
  } else {
    return static_cast<T>((c & b) | (a & static_cast<T>(~b)));
  }
}

/// Whether the relation of a compare-and-swap holds between the operand and the target.
template <typename T>
bool related(engine::ReduceOp operation, T operand, T target) {
  using engine::ReduceOp;
  if (operation == ReduceOp::compare_swap_eq) return operand == target;
  if (operation == ReduceOp::compare_swap_ne) return operand != target;
  if constexpr (is_integer<T> || is_real<T>) {
    if (operation == ReduceOp::compare_swap_lt) return operand < target;
    if (operation == ReduceOp::compare_swap_le) return operand <= target;
    if (operation == ReduceOp::compare_swap_ge) return operand >= target;
    return operand > target;
  }
  return false;
}

template <typename T>
T of_arithmetic(engine::ReduceOp operation, T a, T b) {
  using engine::ReduceOp;
  if constexpr (is_integer<T> || is_real<T> || is_complex<T>) {
    if (operation == ReduceOp::sum) return plus(a, b);
    if (operation == ReduceOp::prod) return times(a, b);
  }
  if constexpr (is_integer<T> || is_real<T>) {
    if (operation == ReduceOp::increment) return plus(a, static_cast<T>(1));
    if (operation == ReduceOp::min) return a < b ? a : b;
    if (operation == ReduceOp::max) return a > b ? a : b;
  }
  return a;
}

template <typename T>
T of_bits(engine::ReduceOp operation, T a, T b) {
  using engine::ReduceOp;
  if constexpr (is_integer<T> || std::is_same_v<T, bool>) {
    bool const first = static_cast<bool>(a);
    bool const second = static_cast<bool>(b);
    if (operation == ReduceOp::land) return static_cast<T>(first ? second : false);
    if (operation == ReduceOp::lor) return static_cast<T>(first ? true : second);
    if (operation == ReduceOp::lxor) return static_cast<T>(first ? !second : second);
  }
  if constexpr (is_integer<T> || is_byte<T>) {
    if (operation == ReduceOp::band) return static_cast<T>(a & b);
    if (operation == ReduceOp::bor) return static_cast<T>(a | b);
    if (operation == ReduceOp::bxor) return static_cast<T>(a ^ b);
  }
  return a;
}

/// Returns the new value of the element `a`. `scale` may be null.
template <typename T>
T expected_element(engine::ReduceOp operation, T a, T b, T c, T const* scale) {
  using engine::ReduceOp;
  if (operation == ReduceOp::replace) return b;
  if (operation == ReduceOp::no_op) return a;
  if constexpr (is_pair<T>) {
    return located(operation, a, b);
  } else {
    if constexpr (is_integer<T> || is_real<T> || is_complex<T>) {
      if (scale != nullptr) return plus(a, times(*scale, b));
    }
    if (operation >= ReduceOp::compare_swap_lt) return related(operation, b, a) ? c : a;
    if constexpr (is_integer<T> || is_byte<T> || std::is_same_v<T, bool>) {
      if (operation == ReduceOp::mask_swap) return masked(a, b, c);
    }
    bool const logical = operation >= ReduceOp::land && operation <= ReduceOp::bxor;
    return logical ? of_bits(operation, a, b) : of_arithmetic(operation, a, b);
  }
}

}  // namespace mpixrma::test
