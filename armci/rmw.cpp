/// Atomic updates of one word.
#include "armci/rmw.hpp"

#include <type_traits>

namespace armci {

template <typename T>
T fetch(char const* call, mpix::engine::RmwOperation operation, T operand, void* remote, int process) {
  using namespace mpix::engine;
  using Word = std::make_unsigned_t<T>;
  mpix::Target& target = target_of(call, process);
  auto const address = reinterpret_cast<mpix::RemoteAddress>(remote);
  Word word{};
  if (mpix::try_direct_rmw(target, operation, address, static_cast<Word>(operand), Word{}, &word))
    return static_cast<T>(word);
  if (address % sizeof(T) != 0)
    fail_at(call, process, remote, "the remote address is not a multiple of %zu", sizeof(T));
  T result{};
  ReadModifyWrite rmw;
  rmw.operation = operation;
  rmw.type = sizeof(T) == 4 ? ElementType::int32 : ElementType::int64;
  rmw.guarantees = mpix::Guarantee::ordered;
  rmw.operand = reinterpret_cast<std::byte const*>(&operand);
  rmw.result = reinterpret_cast<std::byte*>(&result);
  rmw.target = address;
  check(call, process, remote, mpix::issue_and_wait(target, rmw));
  return result;
}

template int fetch(char const*, mpix::engine::RmwOperation, int, void*, int);
template long fetch(char const*, mpix::engine::RmwOperation, long, void*, int);

}  // namespace armci

using namespace armci;

int PARMCI_Rmw(int op, void* ploc, void* prem, int value, int proc) {
  return returning([&] {
    using mpix::engine::RmwOperation;
    if (ploc == nullptr || prem == nullptr)
      fail_at("ARMCI_Rmw", proc, prem, "the %s address is null", ploc == nullptr ? "local" : "remote");
    auto* const as_int = static_cast<int*>(ploc);
    auto* const as_long = static_cast<long*>(ploc);
    switch (op) {
      case ARMCI_FETCH_AND_ADD:
        *as_int = fetch<int>("ARMCI_Rmw", RmwOperation::sum, value, prem, proc);
        break;
      case ARMCI_FETCH_AND_ADD_LONG:
        *as_long = fetch<long>("ARMCI_Rmw", RmwOperation::sum, value, prem, proc);
        break;
      case ARMCI_SWAP: *as_int = fetch<int>("ARMCI_Rmw", RmwOperation::swap, *as_int, prem, proc); break;
      case ARMCI_SWAP_LONG:
        *as_long = fetch<long>("ARMCI_Rmw", RmwOperation::swap, *as_long, prem, proc);
        break;
      default: fail_at("ARMCI_Rmw", proc, prem, "unknown operation %d", op);
    }
    return 0;
  });
}
ARMCI_ALIAS(Rmw);
