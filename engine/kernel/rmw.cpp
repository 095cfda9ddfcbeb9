/// Read-modify-write of elements: with the CPU's atomics, or plainly under the caller's lock.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "engine/kernel/element.hpp"
#include "engine/kernel/kernels.hpp"

namespace mpix::engine {

namespace {

/// Of RmwOperation::sum to RmwOperation::bxor.
constexpr Operation same_operation[] = {Operation::sum,  Operation::prod, Operation::land, Operation::lor,
                                        Operation::lxor, Operation::band, Operation::bor,  Operation::bxor};

template <typename T>
bool equal(T const& a, T const& b) noexcept {
  if constexpr (IsComplex<T>::value) {
    return a.re == b.re && a.im == b.im;
  } else {
    return a == b;
  }
}

/// The new value of an element whose present value is `old`.
template <RmwOperation operation, typename T>
T next_value(T old, T operand, T operand2) noexcept {
  if constexpr (operation == RmwOperation::increment) {
    return add(old, static_cast<T>(1));
  } else if constexpr (operation == RmwOperation::swap) {
    return operand;
  } else if constexpr (operation == RmwOperation::mask_swap) {
    return static_cast<T>((old & ~operand) | (operand2 & operand));
  } else if constexpr (operation == RmwOperation::compare_swap_lt) {
    return operand < old ? operand2 : old;
  } else if constexpr (operation == RmwOperation::compare_swap_le) {
    return operand <= old ? operand2 : old;
  } else if constexpr (operation == RmwOperation::compare_swap_eq) {
    return equal(operand, old) ? operand2 : old;
  } else if constexpr (operation == RmwOperation::compare_swap_ge) {
    return operand >= old ? operand2 : old;
  } else if constexpr (operation == RmwOperation::compare_swap_gt) {
    return operand > old ? operand2 : old;
  } else if constexpr (operation == RmwOperation::compare_swap_ne) {
    return equal(operand, old) ? old : operand2;
  } else {
    constexpr auto offset = static_cast<int>(operation) - static_cast<int>(RmwOperation::sum);
    return combine<same_operation[offset]>(old, operand);
  }
}

template <RmwOperation operation, typename T>
T update_atomically(T* target, T operand, T operand2) noexcept {
  if constexpr (operation == RmwOperation::sum) return __atomic_fetch_add(target, operand, __ATOMIC_SEQ_CST);
  if constexpr (operation == RmwOperation::increment)
    return __atomic_fetch_add(target, T{1}, __ATOMIC_SEQ_CST);
  if constexpr (operation == RmwOperation::band) return __atomic_fetch_and(target, operand, __ATOMIC_SEQ_CST);
  if constexpr (operation == RmwOperation::bor) return __atomic_fetch_or(target, operand, __ATOMIC_SEQ_CST);
  if constexpr (operation == RmwOperation::bxor) return __atomic_fetch_xor(target, operand, __ATOMIC_SEQ_CST);
  if constexpr (operation == RmwOperation::swap)
    return __atomic_exchange_n(target, operand, __ATOMIC_SEQ_CST);
  if constexpr (operation == RmwOperation::compare_swap_eq) {
    T expected = operand;
    __atomic_compare_exchange_n(target, &expected, operand2, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return expected;
  }
  T old = __atomic_load_n(target, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(target, &old, next_value<operation>(old, operand, operand2), true,
                                      __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
  }
  return old;
}

template <typename T>
T load(std::byte const* from, std::size_t index) noexcept {
  T value{};
  if (from != nullptr) std::memcpy(&value, from + index * sizeof(T), sizeof value);
  return value;
}

using Function = void (*)(std::byte* target, std::byte const* operand, std::byte const* operand2,
                          std::byte* result, std::size_t count, bool cpu_atomic) noexcept;

template <RmwOperation operation, ElementType type>
void apply(std::byte* target, std::byte const* operand, std::byte const* operand2, std::byte* result,
           std::size_t count, bool cpu_atomic) noexcept {
  using T = typename ElementOf<type>::Type;
  for (std::size_t i = 0; i < count; ++i) {
    T old;
    if constexpr (has_cpu_atomics(type)) {
      if (cpu_atomic) {
        auto* const word = reinterpret_cast<T*>(target) + i;
        old = update_atomically<operation>(word, load<T>(operand, i), load<T>(operand2, i));
        if (result != nullptr) std::memcpy(result + i * sizeof(T), &old, sizeof old);
        continue;
      }
    }
    old = load<T>(target, i);
    T const updated = next_value<operation>(old, load<T>(operand, i), load<T>(operand2, i));
    std::memcpy(target + i * sizeof(T), &updated, sizeof updated);
    if (result != nullptr) std::memcpy(result + i * sizeof(T), &old, sizeof old);
  }
}

constexpr auto types = static_cast<std::size_t>(ElementType::count_);
constexpr auto operations = static_cast<std::size_t>(RmwOperation::count_);

struct Table {
  Function of[operations][types] = {};
};

constexpr bool rmw_defined(RmwOperation operation, ElementType type) {
  Class const kind = class_of(type);
  if (operation == RmwOperation::increment) return kind == Class::integer || kind == Class::real;
  if (operation >= RmwOperation::sum && operation <= RmwOperation::bxor) {
    return defined(same_operation[static_cast<int>(operation) - static_cast<int>(RmwOperation::sum)], type);
  }
  if (operation == RmwOperation::mask_swap)
    return kind == Class::integer || kind == Class::bytes || kind == Class::logical;
  bool const equality = operation == RmwOperation::swap || operation == RmwOperation::compare_swap_eq ||
                        operation == RmwOperation::compare_swap_ne;
  return equality ? kind != Class::pair : kind == Class::integer || kind == Class::real;
}

template <std::size_t index = 0>
constexpr void fill(Table& table) {
  constexpr auto operation = static_cast<RmwOperation>(index / types);
  constexpr auto type = static_cast<ElementType>(index % types);
  if constexpr (rmw_defined(operation, type))
    table.of[index / types][index % types] = &apply<operation, type>;
  if constexpr (index + 1 < operations * types) fill<index + 1>(table);
}

constexpr Table table = [] {
  Table made;
  fill(made);
  return made;
}();

/// Operations that an accumulate knows, under the caller's lock: fetched as a whole, then combined at vector
/// speed.
bool combine_rows(RmwOperation operation, ElementType type, std::byte* target, std::byte const* operand,
                  std::byte* result, std::size_t bytes) noexcept {
  bool const accumulates = operation >= RmwOperation::sum && operation <= RmwOperation::swap;
  if (!accumulates) return false;
  auto const as_accumulate =
      operation == RmwOperation::swap
          ? Operation::replace
          : same_operation[static_cast<int>(operation) - static_cast<int>(RmwOperation::sum)];
  if (result != nullptr) copy_bytes(result, target, bytes);
  Layout const layout = Layout::contiguous(bytes);
  accumulate({type, as_accumulate, false, nullptr}, target, layout, operand, layout);
  return true;
}

}  // namespace

bool is_defined(RmwOperation operation, ElementType type) noexcept {
  return static_cast<std::size_t>(operation) < operations && static_cast<std::size_t>(type) < types &&
         table.of[static_cast<std::size_t>(operation)][static_cast<std::size_t>(type)] != nullptr;
}

void rmw(RmwOperation operation, ElementType type, std::byte* target, std::byte const* operand,
         std::byte const* operand2, std::byte* result, std::size_t count, bool cpu_atomic) noexcept {
  constexpr std::size_t many = 8;  // elements; below, the loop over elements is as fast
  std::size_t const bytes = count * std::max<std::size_t>(element_size(type), 1);
  if (!cpu_atomic && count >= many && combine_rows(operation, type, target, operand, result, bytes)) return;
  table.of[static_cast<std::size_t>(operation)][static_cast<std::size_t>(type)](target, operand, operand2,
                                                                                result, count, cpu_atomic);
}

}  // namespace mpix::engine
