/// Operations of the C types behind MPI's predefined datatypes, one element at a time.
#pragma once

#include <algorithm>
#include <complex>
#include <cstring>
#include <limits>
#include <type_traits>

#include "tests/stress/base_types.hpp"

namespace mpixrma::stress {

template <typename T, typename Index = int>
struct Pair {
  T value;
  Index index;
};
#ifdef __SIZEOF_FLOAT128__
__extension__ typedef __float128 Quad;
#else
using Quad = long double;
#endif
/// A byte, with bitwise operations but no arithmetic.
struct Octet {
  unsigned char value;
};
struct Truth {
  unsigned char value;
};

enum class Family { bytes, truth, integer, real, complex, pair };

template <typename T>
struct Traits {
  static constexpr Family family = std::is_integral_v<T> ? Family::integer : Family::real;
  using Scalar = T;
};
template <>
struct Traits<Octet> {
  static constexpr Family family = Family::bytes;
  using Scalar = unsigned char;
};
template <>
struct Traits<Truth> {
  static constexpr Family family = Family::truth;
  using Scalar = unsigned char;
};
template <typename T>
struct Traits<std::complex<T>> {
  static constexpr Family family = Family::complex;
  using Scalar = T;
};
template <typename T, typename Index>
struct Traits<Pair<T, Index>> {
  static constexpr Family family = Family::pair;
  using Scalar = T;
};

/// Returns the bits of a value of a small type as an unsigned integer, whose arithmetic wraps.
template <typename T>
std::uint64_t bits(T value) {
  std::uint64_t wide = 0;
  std::memcpy(&wide, &value, sizeof value);
  return wide;
}
template <typename T>
T from_bits(std::uint64_t wide) {
  T value;
  std::memcpy(static_cast<void*>(&value), &wide, sizeof value);
  return value;
}

template <typename T>
T sum(T a, T b) {
  if constexpr (Traits<T>::family == Family::integer) {
    return from_bits<T>(bits(a) + bits(b));
  } else {
    return a + b;
  }
}

template <typename T>
T product(T a, T b) {
  if constexpr (Traits<T>::family == Family::integer) {
    return from_bits<T>(bits(a) * bits(b));
  } else if constexpr (Traits<T>::family == Family::complex) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  } else {
    return a * b;
  }
}

template <Family family>
constexpr bool combines_in(Combine op) {
  bool const is_bit = op == Combine::band || op == Combine::bor || op == Combine::bxor;
  bool const is_logical = op == Combine::land || op == Combine::lor || op == Combine::lxor;
  switch (op) {
    case Combine::replace:
    case Combine::no_op: return true;
    case Combine::sum:
    case Combine::prod:
      return family == Family::integer || family == Family::real || family == Family::complex;
    case Combine::min:
    case Combine::max: return family == Family::integer || family == Family::real;
    case Combine::minloc:
    case Combine::maxloc: return family == Family::pair;
    default:
      return (is_bit && (family == Family::integer || family == Family::bytes)) ||
             (is_logical && (family == Family::integer || family == Family::truth));
  }
}

template <typename T>
T logical(Combine op, T a, T b) {
  bool const left = bits(a) != 0;
  bool const right = bits(b) != 0;
  bool const result = op == Combine::land  ? left && right
                      : op == Combine::lor ? left || right
                                           : left != right;
  return from_bits<T>(result ? 1 : 0);
}

template <typename T>
T bitwise(Combine op, T a, T b) {
  std::uint64_t const left = bits(a);
  std::uint64_t const right = bits(b);
  return from_bits<T>(op == Combine::band ? left & right : op == Combine::bor ? left | right : left ^ right);
}

template <typename T>
T located(Combine op, T a, T b) {
  if (a.value == b.value) return {a.value, std::min(a.index, b.index)};
  bool const first = op == Combine::minloc ? a.value < b.value : a.value > b.value;
  return first ? a : b;
}

template <typename T>
T combined(Combine op, T a, T b) {
  constexpr Family family = Traits<T>::family;
  if (op == Combine::replace) return b;
  if constexpr (family == Family::integer || family == Family::real || family == Family::complex) {
    if (op == Combine::sum) return sum(a, b);
    if (op == Combine::prod) return product(a, b);
  }
  if constexpr (family == Family::integer || family == Family::real) {
    if (op == Combine::min) return std::min(a, b);
    if (op == Combine::max) return std::max(a, b);
  }
  if constexpr (family == Family::pair) {
    if (op == Combine::minloc || op == Combine::maxloc) return located(op, a, b);
  }
  if constexpr (family == Family::integer || family == Family::truth || family == Family::bytes) {
    if (op >= Combine::land && op <= Combine::lxor) return logical(op, a, b);
    if (op >= Combine::band && op <= Combine::bxor) return bitwise(op, a, b);
  }
  return a;
}

template <typename T>
T load(std::byte const* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <typename T>
void combine(Combine op, std::byte* target, std::byte const* origin, std::byte const* scale) {
  T operand = load<T>(origin);
  if constexpr (combines_in<Traits<T>::family>(Combine::prod)) {
    if (scale != nullptr) operand = product(load<T>(scale), operand);
  }
  T const result = combined(op, load<T>(target), operand);
  std::memcpy(target, &result, sizeof result);
}

constexpr Combine same[] = {Combine::replace, Combine::prod, Combine::sum, Combine::land, Combine::lor,
                            Combine::lxor,    Combine::band, Combine::bor, Combine::bxor, Combine::replace};

template <Family family>
constexpr bool modifies_in(Modify op) {
  bool const ordered = family == Family::integer || family == Family::real;
  if (op == Modify::increment) return ordered;
  if (op < Modify::swap) return combines_in<family>(same[static_cast<int>(op)]);
  if (op == Modify::mask_swap)
    return family == Family::integer || family == Family::bytes || family == Family::truth;
  if (op == Modify::swap || op == Modify::eq || op == Modify::ne) return family != Family::pair;
  return ordered;
}

template <typename T>
bool holds(Modify op, T operand, T target) {
  if constexpr (Traits<T>::family == Family::bytes || Traits<T>::family == Family::truth) {
    return (operand.value == target.value) == (op == Modify::eq);
  } else {
    if (op == Modify::eq) return operand == target;
    if (op == Modify::ne) return !(operand == target);
    if constexpr (Traits<T>::family != Family::complex) {
      if (op == Modify::lt) return operand < target;
      if (op == Modify::le) return operand <= target;
      if (op == Modify::ge) return operand >= target;
      if (op == Modify::gt) return operand > target;
    }
    return false;
  }
}

template <typename T>
void modify(Modify op, std::byte* target, std::byte const* operand, std::byte const* operand2) {
  constexpr Family family = Traits<T>::family;
  if constexpr (family != Family::pair) {
    T const before = load<T>(target);
    T after = before;
    if (op == Modify::increment) {
      if constexpr (modifies_in<family>(Modify::increment)) after = sum(before, static_cast<T>(1));
    } else if (op <= Modify::swap) {
      after = combined(same[static_cast<int>(op)], before, load<T>(operand));
    } else if (op == Modify::mask_swap) {
      if constexpr (sizeof(T) <= sizeof(std::uint64_t)) {
        std::uint64_t const mask = bits(load<T>(operand));
        after = from_bits<T>((bits(before) & ~mask) | (bits(load<T>(operand2)) & mask));
      }
    } else if (holds(op, load<T>(operand), before)) {
      after = load<T>(operand2);
    }
    std::memcpy(target, &after, sizeof after);
  }
}

/// Fills integers and bytes with random bits, and other types with small whole numbers: all results are
/// exact, and no zero is negative.
template <typename T>
void fill(Random& random, bool factor, std::byte* value) {
  constexpr Family family = Traits<T>::family;
  using Scalar = typename Traits<T>::Scalar;
  std::memset(value, 0, sizeof(T));
  auto const small = [&] { return static_cast<Scalar>(static_cast<int>(random() % 17) - 8); };
  T made;
  if constexpr (family == Family::bytes || family == Family::integer) {
    made = from_bits<T>(random());
  } else if constexpr (family == Family::truth) {
    made = {static_cast<unsigned char>(random() % 2)};
  } else if constexpr (family == Family::real) {
    made = factor ? static_cast<T>(1 + random() % 2) : small();
  } else if constexpr (family == Family::complex) {
    made = factor ? T(static_cast<Scalar>(1 + random() % 2), static_cast<Scalar>(random() % 2))
                  : T(small(), small());
  } else {
    std::memset(&made, 0, sizeof made);
    made.value = small();
    made.index = static_cast<decltype(made.index)>(static_cast<int>(random() % 9));
  }
  std::memcpy(value, &made, sizeof made);
}

/// Returns the number of bytes of a scalar that carry its value.
template <typename Scalar>
constexpr std::size_t value_bytes() {
  return std::is_same_v<Scalar, long double> && std::numeric_limits<long double>::digits == 64
             ? 10
             : sizeof(Scalar);
}

template <typename T>
Arithmetic const* arithmetic() {
  static Arithmetic const made = [] {
    constexpr Family family = Traits<T>::family;
    using Scalar = typename Traits<T>::Scalar;
    Arithmetic result;
    result.size = sizeof(T);
    result.has_combine = &combines_in<family>;
    result.has_modify = &modifies_in<family>;
    result.combine = &combine<T>;
    result.modify = &modify<T>;
    result.fill = &fill<T>;
    static_assert(sizeof(T) <= sizeof result.significant);
    std::memset(result.significant, 1, value_bytes<Scalar>());
    if constexpr (family == Family::complex)
      std::memset(result.significant + sizeof(Scalar), 1, value_bytes<Scalar>());
    if constexpr (family == Family::pair) {
      constexpr std::size_t index_end = offsetof(T, index) + sizeof(T::index);
      std::memset(result.significant + offsetof(T, index), 1, sizeof(T::index));
      static_assert(offsetof(T, index) == sizeof(Scalar) || index_end == sizeof(T), "one gap");
      result.gap_at = offsetof(T, index) != sizeof(Scalar) ? sizeof(Scalar) : index_end;
      result.gap_bytes = sizeof(T) - sizeof(Scalar) - sizeof(T::index);
    }
    return result;
  }();
  return &made;
}

}  // namespace mpixrma::stress
