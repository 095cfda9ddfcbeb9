/// Atomic updates of one word.
#include "armci/rmw.hpp"

namespace armci {

template <typename T>
T fetch(char const* call, mpix::engine::RmwOperation operation, T operand, void* remote, int process) {
  using namespace mpix::engine;
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
  mpix::Target& target = target_of(call, process);
  T result{};
  ReadModifyWrite rmw;
  rmw.operation = operation;
  rmw.type = sizeof(T) == 4 ? ElementType::int32 : ElementType::int64;
  rmw.guarantees = mpix::Guarantee::ordered;
  rmw.operand = reinterpret_cast<std::byte const*>(&operand);
  rmw.result = reinterpret_cast<std::byte*>(&result);
  rmw.target = reinterpret_cast<mpix::RemoteAddress>(remote);
  std::byte* const mapped = target.peer->reach(rmw.target, sizeof(T));
  if (mapped != nullptr && is_cpu_atomic(operation, rmw.type, mapped)) {
    if (operation == RmwOperation::sum) return __atomic_fetch_add(reinterpret_cast<T*>(mapped), operand, __ATOMIC_SEQ_CST);
    if (operation == RmwOperation::swap) return __atomic_exchange_n(reinterpret_cast<T*>(mapped), operand, __ATOMIC_SEQ_CST);
  }
  check(call, mpix::issue_and_wait(target, rmw));
  return result;
}

template int fetch(char const*, mpix::engine::RmwOperation, int, void*, int);
template long fetch(char const*, mpix::engine::RmwOperation, long, void*, int);

}  // namespace armci

using namespace armci;

int PARMCI_Rmw(int op, void* ploc, void* prem, int value, int proc) {
  using mpix::engine::RmwOperation;
  if (ploc == nullptr || prem == nullptr) fail("ARMCI_Rmw", "%s address is null", ploc == nullptr ? "local" : "remote");
  auto* const as_int = static_cast<int*>(ploc);
  auto* const as_long = static_cast<long*>(ploc);
  switch (op) {
    case ARMCI_FETCH_AND_ADD: *as_int = fetch<int>("ARMCI_Rmw", RmwOperation::sum, value, prem, proc); break;
    case ARMCI_FETCH_AND_ADD_LONG: *as_long = fetch<long>("ARMCI_Rmw", RmwOperation::sum, value, prem, proc); break;
    case ARMCI_SWAP: *as_int = fetch<int>("ARMCI_Rmw", RmwOperation::swap, *as_int, prem, proc); break;
    case ARMCI_SWAP_LONG: *as_long = fetch<long>("ARMCI_Rmw", RmwOperation::swap, *as_long, prem, proc); break;
    default: fail("ARMCI_Rmw", "unknown operation %d", op);
  }
  return 0;
}
ARMCI_ALIAS(Rmw);
