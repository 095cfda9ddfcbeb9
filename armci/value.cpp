/// Transfers of a single value.
#include "armci/onesided.hpp"

namespace armci {
namespace {

template <typename T>
int put_value(char const* call, T value, void* remote, int process) {
  return return_code_of([&] {
    return contiguous<Direction::put>(call, &value, remote, sizeof value, process, {}, Blocking{});
  });
}

}  // namespace
}  // namespace armci

#define ARMCI_VALUE_FUNCTIONS(name, type)                                                                   \
  int PARMCI_PutValue##name(type src, void* dst, int proc) {                                                \
    return armci::put_value("ARMCI_PutValue" #name, src, dst, proc);                                        \
  }                                                                                                         \
  /* `src` ends with the call, so the put completes locally before that. */                                 \
  int PARMCI_NbPutValue##name(type src, void* dst, int proc, void*) {                                       \
    return armci::put_value("ARMCI_NbPutValue" #name, src, dst, proc);                                      \
  }                                                                                                         \
  type PARMCI_GetValue##name(void* src, int proc) {                                                         \
    type value = 0;                                                                                         \
    armci::abort_on_failure([&] {                                                                           \
      armci::contiguous<armci::Direction::get>("ARMCI_GetValue" #name, &value, src, sizeof value, proc, {}, \
                                               armci::Blocking{});                                          \
    });                                                                                                     \
    return value;                                                                                           \
  }                                                                                                         \
  ARMCI_ALIAS(PutValue##name);                                                                              \
  ARMCI_ALIAS(NbPutValue##name);                                                                            \
  ARMCI_ALIAS(GetValue##name)

ARMCI_VALUE_FUNCTIONS(Int, int);
ARMCI_VALUE_FUNCTIONS(Long, long);
ARMCI_VALUE_FUNCTIONS(Float, float);
ARMCI_VALUE_FUNCTIONS(Double, double);
