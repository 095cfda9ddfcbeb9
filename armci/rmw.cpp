/// Atomic updates of one word.
#include <type_traits>

#include "armci/state.hpp"
#include "mpix/runtime/process_engine.hpp"

namespace armci {

namespace {

using mpixrma::engine::ReduceOp;

/// Updates the word by one instruction while a trace is written, and records the update. Returns false if
/// nothing was done.
template <ReduceOp operation, typename Word>
[[gnu::noinline]] bool update_traced(mpixrma::Target& target, mpixrma::RemoteAddress address, Word operand,
                                     Word* previous) {
  mpixrma::engine::Recorder& recorder = *mpixrma::direct_recorder();
  std::uint64_t const began = recorder.now();
  if (!mpixrma::try_direct_rmw<mpixrma::Lookup::traced>(target, operation, address, operand, Word{},
                                                        previous))
    return false;
  constexpr auto op = mpixrma::engine::traced_update(operation, mpixrma::engine::Fetch::yes);
  recorder.add_direct(began, target.peer->process(), op, sizeof(Word));
  return true;
}

/// Writes the previous value to `local`, which also holds the operand of a swap. That operand is not read
/// before the remote word is found. Inlined into each call, where a few nanoseconds count.
template <ReduceOp operation, typename T>
__attribute__((always_inline)) inline void update(char const* call, T summand, T* local, void* remote,
                                                  int process) {
  using namespace mpixrma::engine;
  using Word = std::make_unsigned_t<T>;
  mpixrma::Target& target = target_of(call, process);
  auto const address = reinterpret_cast<mpixrma::RemoteAddress>(remote);
  constexpr bool is_swap = operation == ReduceOp::replace;
  T const& operand = is_swap ? *local : summand;
  Word word{};
  if (mpixrma::try_direct_rmw(target, operation, address, reinterpret_cast<Word const&>(operand), Word{},
                              &word)) {
    *local = static_cast<T>(word);
    return;
  }
  if (mpixrma::direct_recorder() != nullptr &&
      update_traced<operation>(target, address, reinterpret_cast<Word const&>(operand), &word)) [[unlikely]] {
    *local = static_cast<T>(word);
    return;
  }
  if (address % sizeof(T) != 0)
    fail_at(call, process, remote, "the remote address is not a multiple of %zu", sizeof(T));
  T previous{};
  RmaOp described = update_with(operation, sizeof(T) == 4 ? ElementType::int32 : ElementType::int64);
  described.flags = OpFlags::ordered | OpFlags::element_atomic;
  described.origin = read_only(&operand);
  described.result = reinterpret_cast<std::byte*>(is_swap ? &previous : local);  // must not alias the operand
  described.target = address;
  described.origin_layout = described.result_layout = described.target_layout = Layout::contiguous(sizeof(T));
  check_operation(call, target, described, mpixrma::issue_and_wait(target, described));
  if (is_swap) *local = previous;
}

}  // namespace
}  // namespace armci

using namespace armci;

int PARMCI_Rmw(int op, void* ploc, void* prem, int value, int proc) {
  return return_code_of([&] {
    if (ploc == nullptr || prem == nullptr)
      fail_at("ARMCI_Rmw", proc, prem, "the %s address is null", ploc == nullptr ? "local" : "remote");
    auto* const as_int = static_cast<int*>(ploc);
    auto* const as_long = static_cast<long*>(ploc);
    switch (op) {
      case ARMCI_FETCH_AND_ADD: update<ReduceOp::sum>("ARMCI_Rmw", value, as_int, prem, proc); break;
      case ARMCI_FETCH_AND_ADD_LONG:
        update<ReduceOp::sum>("ARMCI_Rmw", long{value}, as_long, prem, proc);
        break;
      case ARMCI_SWAP: update<ReduceOp::replace>("ARMCI_Rmw", 0, as_int, prem, proc); break;
      case ARMCI_SWAP_LONG: update<ReduceOp::replace>("ARMCI_Rmw", 0L, as_long, prem, proc); break;
      default: fail_at("ARMCI_Rmw", proc, prem, "unknown operation %d", op);
    }
    return 0;
  });
}
ARMCI_ALIAS(Rmw);
