/// Operations on mapped memory: loads, stores and CPU atomics. Complete on both sides when the function
/// returns, except for the full fence in EngineOrder::complete. Non-temporal stores are fenced
/// before the function returns, because another thread may execute that full fence.
#pragma once

#include "engine/op/kernel/kernels.hpp"
#include "engine/op/operation.hpp"
#include "engine/sync/footprint.hpp"
#include "engine/sync/stripes.hpp"

namespace mpixrma::engine {

/// `target` is the local address of the operation's target, in memory of a process with these modes. The
/// caller holds the stripes that footprint_of() has asked for.
void execute_directly(RmaOp const& operation, std::byte* target, UpdateModes& modes) noexcept;

/// As execute_directly(), but acquires the stripes of `table` that the operation requires. The operation must
/// not have OpFlags::atomic. It accesses [begin, end); its target is a virtual address in the process of the
/// table, not an offset in an exposure.
inline void execute_with_stripes(RmaOp const& operation, std::byte* target, StripeTable& table,
                                 RemoteAddress begin, RemoteAddress end) noexcept {
  bool const locked = locks_target(operation, table.modes);
  StripeGuard const guard(table, locked ? stripes_of(begin, end) : 0);
  execute_directly(operation, target, table.modes);
}

/// Contiguous accumulate with element-wise atomicity, of a type that the CPU's atomics support. `single`: as
/// in ElementUpdate.
inline void accumulate_elements(Reduction reduction, void const* origin, std::byte* target,
                                StripeTable& table, RemoteAddress address, std::size_t bytes,
                                bool single = false) noexcept {
  ElementUpdate const update{reduction.type, address, address + bytes, single};
  auto const* const from = static_cast<std::byte const*>(origin);
  bool const locked = needs_stripes(table.modes, update);
  StripeGuard const guard(table, locked ? stripes_of(update.begin, update.end) : 0);
  reduction.element_atomic = uses_cpu_atomics(table.modes, update);
  if (locked && reduction.element_atomic)
    return update_part(reduction, target, Layout::contiguous(bytes), 0, {from, nullptr, nullptr, bytes},
                       atomic_regions(table.modes, update, target, address));
  accumulate_contiguous(reduction, target, from, bytes);
}

/// Contiguous update with element-wise atomicity, of elements from `address` on in the process of the table.
/// `reduction` is valid; `flags` are the operation's. Returns false without side effects if a stripe of
/// the elements is held.
bool try_update_elements(Reduction reduction, std::byte* target, PackedSides const& sides, StripeTable& table,
                         RemoteAddress address, OpFlags flags = OpFlags::element_atomic) noexcept;

/// Executes a sum, increment, swap or compare-and-swap for equality on one aligned 4- or 8-byte integer by
/// one instruction; Word is the unsigned type of that size. For other operations returns false without side
/// effects, and does not read `operand`.
template <typename Word>
inline bool update_word(Word* word, ReduceOp operation, Word const& operand, Word operand2,
                        Word* result) noexcept {
  switch (operation) {
    case ReduceOp::increment: *result = __atomic_fetch_add(word, Word{1}, __ATOMIC_SEQ_CST); break;
    case ReduceOp::sum: *result = __atomic_fetch_add(word, operand, __ATOMIC_SEQ_CST); break;
    case ReduceOp::replace: *result = __atomic_exchange_n(word, operand, __ATOMIC_SEQ_CST); break;
    case ReduceOp::compare_swap_eq:
      *result = operand;
      __atomic_compare_exchange_n(word, result, operand2, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
      break;
    default: return false;
  }
  return true;
}

}  // namespace mpixrma::engine
