/// Kernels that update each element by an atomic instruction of the CPU or a compare-and-swap loop.
#include <cstring>

#include "engine/op/kernel/element.hpp"
#include "engine/op/kernel/row_kernels.hpp"

namespace mpixrma::engine {

namespace {

/// Atomically sets *target to next(*target), retrying as necessary; returns the previous value.
template <typename T, typename Next>
T compare_exchange_loop(T* target, Next next) noexcept {
  T old = __atomic_load_n(target, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(target, &old, next(old), true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
  }
  return old;
}

template <ReduceOp operation, typename T>
T update_element(T* target, T operand, T operand2) noexcept {
  if constexpr (operation == ReduceOp::no_op) return __atomic_load_n(target, __ATOMIC_SEQ_CST);
  if constexpr (operation == ReduceOp::sum) return __atomic_fetch_add(target, operand, __ATOMIC_SEQ_CST);
  if constexpr (operation == ReduceOp::increment) return __atomic_fetch_add(target, T{1}, __ATOMIC_SEQ_CST);
  if constexpr (operation == ReduceOp::band) return __atomic_fetch_and(target, operand, __ATOMIC_SEQ_CST);
  if constexpr (operation == ReduceOp::bor) return __atomic_fetch_or(target, operand, __ATOMIC_SEQ_CST);
  if constexpr (operation == ReduceOp::bxor) return __atomic_fetch_xor(target, operand, __ATOMIC_SEQ_CST);
  if constexpr (operation == ReduceOp::replace) return __atomic_exchange_n(target, operand, __ATOMIC_SEQ_CST);
  if constexpr (operation == ReduceOp::compare_swap_eq) {
    T expected = operand;
    __atomic_compare_exchange_n(target, &expected, operand2, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return expected;
  }
  return compare_exchange_loop(target, [&](T old) { return next_value<operation>(old, operand, operand2); });
}

template <typename T>
T load(std::byte const* from, std::size_t index) noexcept {
  T value;
  std::memcpy(&value, from + index * sizeof(T), sizeof value);
  return value;
}

template <ElementType type, ReduceOp operation>
void update_atomically(std::byte* target, std::byte const* origin, std::byte const* operand2,
                       std::byte* result, std::size_t count, void const*) noexcept {
  using T = typename ElementOf<type>::Type;
  for (std::size_t i = 0; i < count; ++i) {
    T first{};
    T second{};
    if constexpr (operand_count(operation) > 0) first = load<T>(origin, i);
    if constexpr (operand_count(operation) > 1) second = load<T>(operand2, i);
    T const old = update_element<operation>(reinterpret_cast<T*>(target) + i, first, second);
    if (result != nullptr) std::memcpy(result + i * sizeof(T), &old, sizeof old);
  }
}

template <ElementType type>
void scaled_sum_atomically(std::byte* target, std::byte const* origin, std::byte const*, std::byte* result,
                           std::size_t count, void const* scale) noexcept {
  using T = typename ElementOf<type>::Type;
  T const factor = load<T>(static_cast<std::byte const*>(scale), 0);
  for (std::size_t i = 0; i < count; ++i) {
    T const addend = multiply(factor, load<T>(origin, i));
    T const old = update_element<ReduceOp::sum>(reinterpret_cast<T*>(target) + i, addend, T{});
    if (result != nullptr) std::memcpy(result + i * sizeof(T), &old, sizeof old);
  }
}

constexpr KernelTable<UpdateAtomically> make_table() {
  KernelTable<UpdateAtomically> table;
  for_every_pair([&]<ElementType type, ReduceOp operation> {
    if constexpr (has_cpu_atomics(type) && defined(operation, type)) {
      constexpr auto row = static_cast<std::size_t>(type);
      table.of[row][static_cast<std::size_t>(operation)] = &update_atomically<type, operation>;
      if constexpr (operation == ReduceOp::sum) table.scaled_sum[row] = &scaled_sum_atomically<type>;
    }
  });
  return table;
}

}  // namespace

constinit KernelTable<UpdateAtomically> const atomic_kernels = make_table();

}  // namespace mpixrma::engine
