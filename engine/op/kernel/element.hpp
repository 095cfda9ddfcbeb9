/// The effect of each operation on one element. For the kernel sources only: everything is in an
/// unnamed namespace, because it is compiled for several instruction sets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "engine/op/kernel/types.hpp"

namespace mpixrma::engine {
namespace {

template <typename T>
struct Complex {
  T re;
  T im;
};
/// Without padding, like the packed data.
template <typename T, typename Index = int>
struct __attribute__((packed)) ValueIndex {
  T value;
  Index index;
};

// IEEE 754 binary128.
#ifdef __SIZEOF_FLOAT128__
__extension__ typedef __float128 Float128;
#else
static_assert(__LDBL_MANT_DIG__ == 113);
using Float128 = long double;
#endif

template <ElementType>
struct ElementOf;
#define MPIX_ELEMENT(name, type)        \
  template <>                           \
  struct ElementOf<ElementType::name> { \
    using Type = type;                  \
  };
MPIX_ELEMENT(none, unsigned char)
MPIX_ELEMENT(int8, std::int8_t)
MPIX_ELEMENT(uint8, std::uint8_t)
MPIX_ELEMENT(int16, std::int16_t)
MPIX_ELEMENT(uint16, std::uint16_t)
MPIX_ELEMENT(int32, std::int32_t)
MPIX_ELEMENT(uint32, std::uint32_t)
MPIX_ELEMENT(int64, std::int64_t)
MPIX_ELEMENT(uint64, std::uint64_t)
MPIX_ELEMENT(float32, float)
MPIX_ELEMENT(float64, double)
MPIX_ELEMENT(long_double, long double)
MPIX_ELEMENT(complex_float, Complex<float>)
MPIX_ELEMENT(complex_double, Complex<double>)
MPIX_ELEMENT(complex_long_double, Complex<long double>)
MPIX_ELEMENT(boolean, unsigned char)
MPIX_ELEMENT(float_int, ValueIndex<float>)
MPIX_ELEMENT(double_int, ValueIndex<double>)
MPIX_ELEMENT(long_int, ValueIndex<long>)
MPIX_ELEMENT(int_int, ValueIndex<int>)
MPIX_ELEMENT(short_int, ValueIndex<short>)
MPIX_ELEMENT(long_double_int, ValueIndex<long double>)
MPIX_ELEMENT(float128, Float128)
MPIX_ELEMENT(complex_float128, Complex<Float128>)
using FloatPair = ValueIndex<float, float>;
MPIX_ELEMENT(float_float, FloatPair)
using DoublePair = ValueIndex<double, double>;
MPIX_ELEMENT(double_double, DoublePair)
#undef MPIX_ELEMENT

template <typename T>
struct IsComplex : std::false_type {};
template <typename T>
struct IsComplex<Complex<T>> : std::true_type {};

enum class Class { bytes, logical, integer, real, complex, pair };

constexpr Class class_of(ElementType type) noexcept {
  if (type == ElementType::none) return Class::bytes;
  if (type <= ElementType::uint64) return Class::integer;
  if (type <= ElementType::long_double || type == ElementType::float128) return Class::real;
  if (type <= ElementType::complex_long_double || type == ElementType::complex_float128)
    return Class::complex;
  return type == ElementType::boolean ? Class::logical : Class::pair;
}

/// Whether the operation is defined for the type.
constexpr bool defined(ReduceOp operation, ElementType type) noexcept {
  Class const kind = class_of(type);
  switch (operation) {
    case ReduceOp::replace:
    case ReduceOp::no_op: return true;
    case ReduceOp::sum:
    case ReduceOp::prod: return kind == Class::integer || kind == Class::real || kind == Class::complex;
    case ReduceOp::min:
    case ReduceOp::max: return kind == Class::integer || kind == Class::real;
    case ReduceOp::land:
    case ReduceOp::lor:
    case ReduceOp::lxor: return kind == Class::integer || kind == Class::logical;
    case ReduceOp::band:
    case ReduceOp::bor:
    case ReduceOp::bxor: return kind == Class::integer || kind == Class::bytes;
    case ReduceOp::minloc:
    case ReduceOp::maxloc: return kind == Class::pair;
    case ReduceOp::increment: return kind == Class::integer || kind == Class::real;
    case ReduceOp::mask_swap: return kind == Class::integer || kind == Class::bytes || kind == Class::logical;
    case ReduceOp::compare_swap_eq:
    case ReduceOp::compare_swap_ne: return kind != Class::pair;
    case ReduceOp::compare_swap_lt:
    case ReduceOp::compare_swap_le:
    case ReduceOp::compare_swap_ge:
    case ReduceOp::compare_swap_gt: return kind == Class::integer || kind == Class::real;
    case ReduceOp::count_: break;
  }
  return false;
}

template <typename T>
inline T add(T a, T b) noexcept {
  if constexpr (IsComplex<T>::value) {
    return {a.re + b.re, a.im + b.im};
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));  // wraps around
  } else {
    return a + b;
  }
}

template <typename T>
inline T multiply(T a, T b) noexcept {
  if constexpr (IsComplex<T>::value) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  } else {
    return a * b;
  }
}

template <typename T>
inline bool equal(T const& a, T const& b) noexcept {
  if constexpr (IsComplex<T>::value) {
    return a.re == b.re && a.im == b.im;
  } else {
    return a == b;
  }
}

/// Returns the lower index for equal values.
template <ReduceOp operation, typename T>
inline T locate(T a, T b) noexcept {
  bool const better = operation == ReduceOp::minloc ? b.value < a.value : a.value < b.value;
  if (better) return b;
  if (a.value == b.value && b.index < a.index) a.index = b.index;
  return a;
}

/// Whether the relation of a compare-and-swap holds.
template <ReduceOp operation, typename T>
inline bool holds(T operand, T old) noexcept {
  if constexpr (operation == ReduceOp::compare_swap_lt) return operand < old;
  if constexpr (operation == ReduceOp::compare_swap_le) return operand <= old;
  if constexpr (operation == ReduceOp::compare_swap_eq) return equal(operand, old);
  if constexpr (operation == ReduceOp::compare_swap_ge) return operand >= old;
  if constexpr (operation == ReduceOp::compare_swap_gt) return operand > old;
  if constexpr (operation == ReduceOp::compare_swap_ne) return !equal(operand, old);
}

/// Returns the new value of an element whose current value is `a`. Only for defined pairs.
template <ReduceOp operation, typename T>
inline T next_value(T a, T b, [[maybe_unused]] T c) noexcept {
  if constexpr (operation == ReduceOp::replace) {
    return b;
  } else if constexpr (operation == ReduceOp::no_op) {
    return a;
  } else if constexpr (operation == ReduceOp::sum) {
    return add(a, b);
  } else if constexpr (operation == ReduceOp::prod) {
    return multiply(a, b);
  } else if constexpr (operation == ReduceOp::min) {
    return b < a ? b : a;
  } else if constexpr (operation == ReduceOp::max) {
    return a < b ? b : a;
  } else if constexpr (operation == ReduceOp::land) {
    return static_cast<T>(a != 0 && b != 0);
  } else if constexpr (operation == ReduceOp::lor) {
    return static_cast<T>(a != 0 || b != 0);
  } else if constexpr (operation == ReduceOp::lxor) {
    return static_cast<T>((a != 0) != (b != 0));
  } else if constexpr (operation == ReduceOp::band) {
    return static_cast<T>(a & b);
  } else if constexpr (operation == ReduceOp::bor) {
    return static_cast<T>(a | b);
  } else if constexpr (operation == ReduceOp::bxor) {
    return static_cast<T>(a ^ b);
  } else if constexpr (operation == ReduceOp::minloc || operation == ReduceOp::maxloc) {
    return locate<operation>(a, b);
  } else if constexpr (operation == ReduceOp::increment) {
    return add(a, static_cast<T>(1));
  } else if constexpr (operation == ReduceOp::mask_swap) {
    return static_cast<T>((a & ~b) | (c & b));
  } else {
    return holds<operation>(b, a) ? c : a;
  }
}

}  // namespace
}  // namespace mpixrma::engine
